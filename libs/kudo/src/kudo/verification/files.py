"""Checks of the names of files in `templates`: which of them are templates is not obvious."""

from collections.abc import Iterator
from typing import Final

from kudo.packages import Package
from kudo.packages.reader import is_template, template_name
from kudo.verification.finding import Finding, Place, error, warning

_FOLDER: Final = "templates/"
_SUFFIX: Final = ".yaml"
_MISNAMED: Final = ".yml"


def template_files_are_named_as_such(package: Package) -> Iterator[Finding]:
    """As in KUDO 0.19, a template is what contains `.yaml`, in a folder that begins `templates`."""
    for path, _ in package.files.walk():
        if path.startswith(_FOLDER) and path.endswith(_MISNAMED):
            message = f'"{path}" is no template, since its name does not end in {_SUFFIX}'
            name = path.removesuffix(_MISNAMED) + _SUFFIX
            yield warning("TemplateFileName", message, Place(path), f"rename it to {name}")
        elif is_template(path) and not (path.startswith(_FOLDER) and path.endswith(_SUFFIX)):
            message = f'"{path}" is read as template "{template_name(path)}"'
            suggestion = f"move it into {_FOLDER}" if path.endswith(_SUFFIX) else "remove it"
            yield warning("TemplateFileName", message, Place(path), suggestion)


def template_names_are_unique(package: Package) -> Iterator[Finding]:
    """The name of a template is what follows the last `templates/` of its path."""
    seen: dict[str, str] = {}
    for path, _ in package.files.walk():
        if not is_template(path):
            continue
        name = template_name(path)
        first = seen.setdefault(name, path)
        if first != path:
            message = f'"{path}" and "{first}" are both template "{name}"; only one of them is used'
            yield error("TemplateDuplicate", message, Place(path), "rename one of them")
