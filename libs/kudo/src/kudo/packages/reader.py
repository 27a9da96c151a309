"""Reads packages from folders and archives, and reports all problems at once."""

import posixpath
from pathlib import Path
from typing import Final

from goyaml import NotTextError, decode
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.archive import read_archive
from kudo.packages.files import (
    DEFAULT_LIMITS,
    OPERATOR_FILE,
    PARAMETERS_FILE,
    PackageFiles,
    PackageLimits,
    unreadable,
)
from kudo.packages.folder import read_folder
from kudo.packages.model import Package
from kudo.packages.parse import parse_operator, parse_parameters

ARCHIVE_SUFFIX: Final = ".tgz"
_TEMPLATES: Final = "templates"


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
    for name in (OPERATOR_FILE, PARAMETERS_FILE):
        if name not in files.files:
            message = f"operator package missing {name} in {files.origin}{_hint(name, files)}"
            problems.append(Problem("PackageIncomplete", message, name))
    if problems:
        raise InvalidInput(problems)
    operator = parse_operator(files.files[OPERATOR_FILE], problems)
    parameters, groups = parse_parameters(files.files[PARAMETERS_FILE], problems)
    templates = _templates(files, problems)
    if problems:
        raise InvalidInput(problems)
    return Package(operator, parameters, groups, templates, files.origin, files)


def _hint(name: str, files: PackageFiles) -> str:
    """Return what to do about a missing file, where another one looks like it."""
    misnamed = name.replace(".yaml", ".yml")
    if misnamed in files.files:
        return f"; rename {misnamed} to {name}"
    below = [path for path in files.files if path.endswith(f"/{name}") and path.count("/") == 1]
    if len(below) == 1:
        folder = posixpath.dirname(below[0])
        return (
            f"; it is in the folder {folder} of the archive, so pack the content of that folder: "
            f"kubectl kudo package create {folder}"
        )
    return ""


def _templates(files: PackageFiles, problems: list[Problem]) -> dict[str, str]:
    templates: dict[str, str] = {}
    for path, content in files.walk():
        if not is_template(path):
            continue
        try:
            templates[template_name(path)] = decode(content)
        except NotTextError as error:
            problems.append(Problem("PackageInvalid", error.reason, f"{path}:{error.line}"))
    return templates


def is_template(path: str) -> bool:
    """Return whether a file of a package is a template, as KUDO 0.19 decides it."""
    folder, name = posixpath.split(path)
    return folder.startswith(_TEMPLATES) and ".yaml" in name


def template_name(path: str) -> str:
    """Return the name by which tasks refer to a template."""
    return path.rpartition(f"{_TEMPLATES}/")[2]
