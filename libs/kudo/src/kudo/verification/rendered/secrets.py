"""Checks of where templates put secret parameters: Secrets are for them, and nothing else.

A template is rendered with two values of the parameter. Where the objects differ, something of the
value is, be it as base64 or as a digest. What differs between two renderings with one value, such
as a random text, does not count.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kudo.api import JsonObject
from kudo.api.problems import InvalidInput, path_text, shown
from kudo.api.task_kinds import FatalTaskError
from kudo.packages.model import PackageParameter
from kudo.packages.source import Path
from kudo.parameters.sources import parse_parameter_file
from kudo.tasks.job import JobError
from kudo.tasks.rendering import Engine, objects_with_lines, render
from kudo.verification.finding import Finding, Place, at_task, at_template, error, warning
from kudo.verification.rendered.jobs import buildable, job_of
from kudo.verification.rendered.rendering import RenderedObject, Rendering, Values, without_objects
from kudo.verification.secrets import EXPOSED, IN_ENVIRONMENT
from kudo.verification.templates import templates_of, usages_of

_OTHER: Final = "other"
_CONTENT: Final = ("data", "stringData")
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROGRAM: Final = ("args", "command")
_ELSEWHERE: Final = "put it into a Secret, and refer to that"


class _Rendered(NamedTuple):
    """The same objects, rendered three times: twice with one value, and with another one."""

    first: tuple[RenderedObject, ...]
    again: tuple[RenderedObject, ...]
    other: tuple[RenderedObject, ...]


def secrets_are_in_secrets_alone(rendering: Rendering) -> Iterator[Finding]:
    secrets = [parameter for parameter in rendering.package.parameters if parameter.secret]
    if not secrets:
        return
    usages = usages_of(rendering.package)
    uses = {template.name: usage for template, usage in usages if not template.task}
    texts = without_objects(rendering.package)
    for parameter in secrets:
        files = [
            file
            for file in rendering.package.templates
            if file not in texts
            and file in uses
            and (uses[file].everything or parameter.name in uses[file].parameters)
        ]
        for file in files:
            for item, path in _in_template(rendering, parameter, file):
                place = rendering.place(item, path, fill=True)
                yield _finding(parameter, str(item), path, place)
        yield from _in_jobs(rendering, parameter)


def _in_template(
    rendering: Rendering, parameter: PackageParameter, file: str
) -> Iterator[tuple[RenderedObject, Path]]:
    """Yield the objects of a template that have something of a secret value, and where."""
    values = _values(rendering.filled, parameter)
    try:
        first, again, other = (_objects(rendering, file, each) for each in values)
    except (FatalTaskError, ValueError):  # another check reports it, or there is no other value
        return
    if not len(first) == len(again) == len(other):
        return
    for item, same, changed in zip(first, again, other, strict=True):
        found = _shown_paths(item.object, same.object, changed.object)
        if found is not None:
            yield item, found


def _objects(rendering: Rendering, file: str, values: Values) -> tuple[RenderedObject, ...]:
    text = render(file, rendering.package.templates[file], values)
    read = objects_with_lines(file, text, Engine.full().budget)
    return tuple(RenderedObject(file, item, line) for line, item in read)


def _in_jobs(rendering: Rendering, parameter: PackageParameter) -> Iterator[Finding]:
    scripts = {
        template.name
        for template, usage in usages_of(rendering.package)
        if template.name in rendering.package.scripts and parameter.name in usage.parameters
    }
    for task in buildable(rendering.package):
        if scripts & set(templates_of(task)):
            continue  # its script is reported
        values = _values(rendering.filled, parameter)
        try:
            jobs = [job_of(task, rendering.package, each) for each in values]
            path = _shown_paths(*jobs)
        except (JobError, FatalTaskError, ValueError, TypeError):
            continue
        if path is not None:
            yield _finding(parameter, f"the Job of task {task.name}", path, at_task(task.name))


def secrets_of_children(
    rendering: Rendering, file: str, child: Mapping[str, PackageParameter], name: str
) -> Iterator[Finding]:
    """Yield what is wrong with the secrets that a parameter file gives to a child.

    A child gets a reference where a secret parameter of it is set to one of the package as a whole.

    Args:
        rendering: The templates of the package.
        file: Its parameter file.
        child: The parameters of the child, by name.
        name: The child, for messages.
    """
    secrets = [parameter.name for parameter in rendering.package.parameters if parameter.secret]
    params = rendering.filled["Params"]
    assert isinstance(params, Mapping)
    texts = rendering.package.templates

    def with_marks(mark: str) -> dict[str, str]:
        marks = {each: f"{mark}-{number}-mark" for number, each in enumerate(secrets)}
        values = {**rendering.filled, "Params": {**params, **marks}}
        return parse_parameter_file(file, render(file, texts[file], values))

    try:
        first, other = with_marks("first"), with_marks("other")
    except (FatalTaskError, InvalidInput):  # which another check reports
        return
    place = at_template(file)
    for given, text in first.items():
        is_whole = text in {f"first-{number}-mark" for number in range(len(secrets))}
        is_secret = given in child and child[given].secret
        if not is_whole and other.get(given) != text:
            message = f'parameter "{given}" of {name} has a secret as a part of a text'
            yield error(EXPOSED, message, place, "set it to the whole value of a secret parameter")
        elif is_whole and given in child and not is_secret:
            message = f'parameter "{given}" of {name} gets a secret, and would show it'
            yield error(EXPOSED, message, place, "have that package declare it secret: true")
        elif is_secret and not is_whole:
            message = f'parameter "{given}" of {name} is secret, and gets a plain value'
            yield warning(EXPOSED, message, place, "set it to a secret parameter of this package")


def _values(filled: Values, parameter: PackageParameter) -> list[Values]:
    """Return the values of three renderings; fewer if no other value of the parameter is known."""
    params = filled["Params"]
    assert isinstance(params, Mapping)
    value = params[parameter.name]
    other: object
    match value:
        case "true" | "false":
            other = "false" if value == "true" else "true"
        case str():
            choices = [str(each) for each in parameter.enum or () if str(each) != value]
            other = choices[0] if choices else f"{value}1"
        case list():
            other = [*value, _OTHER]
        case dict():
            other = {**value, _OTHER: _OTHER}
        case _:
            return []
    changed = {**filled, "Params": {**params, parameter.name: other}}
    return [filled, filled, changed]


def _shown_paths(first: JsonObject, again: JsonObject, other: JsonObject) -> Path | None:
    """Return where an object shows a secret value: the worst place, or the first one."""
    is_secret = first.get("kind") == "Secret" and first.get("apiVersion") == "v1"
    random = set(_differing(first, again))
    paths = [
        path
        for path in _differing(first, other)
        if path not in random and not (is_secret and path and path[0] in _CONTENT)
    ]
    return min(paths, key=lambda path: not _is_program(path), default=None)


def _differing(left: object, right: object, path: Path = ()) -> list[Path]:
    if isinstance(left, dict) and isinstance(right, dict):
        keys = [*left, *(key for key in right if key not in left)]
        return [p for key in keys for p in _differing(left.get(key), right.get(key), (*path, key))]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return [found for i, (a, b) in pairs for found in _differing(a, b, (*path, i))]
    return [] if left == right else [path]


def _is_program(path: Path) -> bool:
    """Return whether a path is in the command line of a container."""
    return any(part in _CONTAINERS for part in path) and any(part in _PROGRAM for part in path)


def _finding(parameter: PackageParameter, item: str, path: Path, place: Place) -> Finding:
    where = shown(path_text(path))
    message = f'secret parameter "{parameter.name}" is put into {item} ({where})'
    if _is_program(path):
        text = f"{message}, where whoever may read pods or processes sees it"
        return error(EXPOSED, text, place, IN_ENVIRONMENT)
    return warning(EXPOSED, f"{message}, which is no content of a Secret", place, _ELSEWHERE)
