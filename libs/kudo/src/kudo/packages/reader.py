"""Reads packages from folders and archives, and reports all problems at once.

`parse_operator` and `parse_parameters` read the two YAML files of a package.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from goyaml import DumpError, NotTextError, YamlError, decode, load
from kudo.api import bounds
from kudo.api.names import API_VERSION
from kudo.api.problems import InvalidInput, Problem, path_text
from kudo.api.task_kinds.job import is_script
from kudo.packages.archive import read_archive
from kudo.packages.fields import Fields, read
from kudo.packages.files import (
    DEFAULT_LIMITS,
    OPERATOR_FILE,
    PARAMETERS_FILE,
    TEMPLATES,
    PackageFiles,
    PackageLimits,
    read_folder,
    unreadable,
)
from kudo.packages.model import (
    OperatorFile,
    Package,
    PackageParameter,
    PackagePlan,
    ParameterGroup,
)
from kudo.packages.short_form import Expansion, Fault, expand
from kudo.packages.source import source_of
from kudo.parameters.sources import to_text
from kudo.parameters.types import is_container

ARCHIVE_SUFFIX: Final = ".tgz"


def read_package(path: str | Path, *, limits: PackageLimits = DEFAULT_LIMITS) -> Package:
    """Return the package in a folder or a `.tgz` archive.

    Raises:
        InvalidInput: there is none, it is unsafe or too large to read, or its files are not what
            they should be.
    """
    return parse_package(open_package(path, limits=limits))


def open_package(path: str | Path, *, limits: PackageLimits = DEFAULT_LIMITS) -> PackageFiles:
    """Return the files of a package without looking into them.

    Raises:
        InvalidInput: there is nothing at `path`, it is neither a folder nor a `.tgz` archive, or
            it is unsafe or too large to read.
    """
    place = Path(path).absolute()
    if place.is_dir():
        return read_folder(place, limits)
    if not place.exists():
        raise InvalidInput([Problem("PackageNotFound", f"stat {place}: no such file or directory")])
    if not (place.is_file() and place.name.endswith(ARCHIVE_SUFFIX)):
        raise unreadable(str(place), f"not a package directory or {ARCHIVE_SUFFIX} file")
    try:
        with place.open("rb") as file:
            # A byte more than is allowed is enough to refuse a file of any size.
            data = file.read(limits.total_size + 1)
    except OSError as error:
        raise unreadable(str(place), error.strerror or str(error)) from error
    return read_archive(data, str(place), limits)


def parse_package(files: PackageFiles) -> Package:
    """Return the package that `files` make up.

    Raises:
        InvalidInput: a file is missing or not what it should be; all such problems are named.
    """
    problems: list[Problem] = []
    # Without one of them nothing else can be said of the package.
    for name in (OPERATOR_FILE, PARAMETERS_FILE):
        if name not in files.files:
            message = f"operator package missing {name} in {files.origin}{_hint(name, files)}"
            problems.append(Problem("PackageIncomplete", message, name))
    if problems:
        raise InvalidInput(problems)
    operator, expansion = parse_operator(files.files[OPERATOR_FILE], problems)
    parameters, groups = parse_parameters(files.files[PARAMETERS_FILE], problems)
    templates: dict[str, str] = {}
    for path, content in filter(lambda file: is_template(file[0]), files.walk()):
        try:
            templates[template_name(path)] = decode(content)
        except NotTextError as error:
            problems.append(Problem("PackageInvalid", error.reason, f"{path}:{error.line}"))
    scripts = dict(_scripts(operator, files, problems))
    for name in scripts.keys() & templates.keys():
        fault = f"there is a template {name} as well; rename one of them"
        problems.append(Problem("PackageInvalid", fault, name))
    if problems:
        raise InvalidInput(problems)
    return Package(operator, parameters, groups, templates, files.origin, scripts, files, expansion)


def _scripts(
    operator: OperatorFile, files: PackageFiles, problems: list[Problem]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of each script that a task names, as far as the package has it."""
    jobs = (task.spec.job for task in operator.tasks)
    for path in dict.fromkeys(job.script for job in jobs if job is not None and job.script):
        content = files.files.get(path) if is_script(path) else None
        if content is None:
            continue
        if len(content) > bounds.SCRIPT:
            fault = f"a script may have {bounds.SCRIPT} bytes; move files that it needs to an image"
            problems.append(Problem("PackageTooLarge", fault, path))
            continue
        try:
            yield path, decode(content)
        except NotTextError as error:
            problems.append(Problem("PackageInvalid", error.reason, f"{path}:{error.line}"))


def _hint(name: str, files: PackageFiles) -> str:
    """Return what to do about a missing file, where another one looks like it."""
    misnamed = name.replace(".yaml", ".yml")
    if misnamed in files.files:
        return f"; rename {misnamed} to {name}"
    # `tar czf db.tgz db` packs the folder itself.
    below = [path for path in files.files if path.endswith(f"/{name}") and path.count("/") == 1]
    if len(below) == 1:
        folder = posixpath.dirname(below[0])
        return (
            f"; it is in the folder {folder} of the archive, so pack the content of that folder: "
            f"kubectl kudo package create {folder}"
        )
    return ""


def is_template(path: str) -> bool:
    """Return whether a file of a package is a template, as KUDO 0.19 decides it."""
    folder, name = posixpath.split(path)
    return folder.startswith(TEMPLATES) and ".yaml" in name


def template_name(path: str) -> str:
    """Return the name by which tasks refer to a template."""
    return path.rpartition(f"{TEMPLATES}/")[2]


def parse_operator(content: bytes, problems: list[Problem]) -> tuple[OperatorFile, Expansion]:
    """Return what `operator.yaml` says; append what is wrong with it to `problems`."""
    before = len(problems)
    document = _document(content, OPERATOR_FILE, problems)
    expansion = expand(document)
    problems += (_problem(fault, content) for fault in expansion.faults)
    fields = Fields.of(expansion.document, "", OPERATOR_FILE, problems, expansion.texts())
    if document is None and len(problems) == before:
        why = "has no content" if content.strip() else "is empty"
        fields.note(f"failed to parse yaml into valid operator {OPERATOR_FILE}: the file {why}")
    _check_api_version(fields)
    return _with_run_parameters(read(OperatorFile, fields), fields), expansion


def _with_run_parameters(operator: OperatorFile, fields: Fields) -> OperatorFile:
    """Return the file with the parameters of its plans read as those of `params.yaml`."""
    if not any(plan.parameters for plan in (operator.plans or {}).values()):
        return operator
    # What is wrong with a field was noted when it was read.
    quiet, written_plans = replace(fields, problems=[]), fields.get("plans")
    plans: dict[str, PackagePlan] = {}
    for name, plan in (operator.plans or {}).items():
        of_plan = written_plans[name] if isinstance(written_plans, dict) else None
        written = quiet.child(f"plans.{name}", of_plan).children("parameters")
        parameters = tuple(
            _checked(parameter.model_copy(update={"has_default": each.has("default")}), fields)
            for parameter, each in zip(plan.parameters or (), written, strict=False)
        )
        plans[name] = plan.model_copy(update={"parameters": parameters or None})
    return operator.model_copy(update={"plans": plans})


def _problem(fault: Fault, content: bytes) -> Problem:
    found = source_of(content).position(fault.path)
    place = f"{OPERATOR_FILE}:{found.line}" if found else OPERATOR_FILE
    return Problem("PackageInvalid", f"{path_text(fault.path)}: {fault.message}", place)


def parse_parameters(
    content: bytes, problems: list[Problem]
) -> tuple[tuple[PackageParameter, ...], tuple[ParameterGroup, ...]]:
    """Return the parameters and groups of `params.yaml`; append what is wrong to `problems`."""
    document = _document(content, PARAMETERS_FILE, problems)
    fields = Fields.of(document, "", PARAMETERS_FILE, problems)
    _check_api_version(fields)
    return (
        tuple(map(_parameter, fields.children("parameters"))),
        tuple(read(ParameterGroup, group) for group in fields.children("groups")),
    )


def _document(content: bytes, file: str, problems: list[Problem]) -> object:
    try:
        return load(content)
    except YamlError as error:
        place = f"{file}:{error.line}"
        problems.append(Problem("PackageInvalid", f"not valid YAML: {error.message}", place))
        return None


def _check_api_version(fields: Fields) -> None:
    version = fields.text("apiVersion", fields.get("apiVersion"))
    if version and version != API_VERSION:
        fields.note(f"expecting supported API version {API_VERSION} but got {version}")


def _parameter(fields: Fields) -> PackageParameter:
    parameter = read(PackageParameter, fields)
    # KUDO 0.19 stored the text "null" for these, and published packages rely on it: cassandra 3.11
    # declares {type: array} alone and installs without a value.
    null_by_default = is_container(parameter.type) and fields.get("required") is not True
    has_default = fields.has("default") or null_by_default
    return _checked(parameter.model_copy(update={"has_default": has_default}), fields)


def _checked(parameter: PackageParameter, fields: Fields) -> PackageParameter:
    """Return a parameter, after noting which of its values cannot be stored."""
    if parameter.enum is not None and None in parameter.enum:
        fields.note(f'parameter "{parameter.name}" has a null value in its enum')
    for value in (parameter.default, *(parameter.enum or ())):
        try:
            to_text(value, parameter.type)
        except DumpError as error:
            fields.note(f'parameter "{parameter.name}" has a value that cannot be stored: {error}')
    return parameter
