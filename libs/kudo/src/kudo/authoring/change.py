"""Checks the files of a package as they would be after a change, before any is written."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from kudo.api.problems import InvalidInput, Problem
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE, PackageFiles
from kudo.packages.location import FolderLocation, Located
from kudo.packages.reader import open_package, parse_package
from kudo.verification import verify, verify_dependencies


def files_of(folder: Path) -> PackageFiles:
    """Return the files of a package that may be incomplete.

    Raises:
        InvalidInput: files are unsafe or too large to read.
    """
    if not folder.exists():
        return PackageFiles(str(folder), {})
    return open_package(folder)


def check_change(folder: Path, before: PackageFiles, changes: Mapping[str, str]) -> None:
    """Verify a package with some of its files changed.

    Args:
        folder: The folder of the package.
        before: Its files as they are.
        changes: New texts by the path of the file.

    Raises:
        InvalidInput: the change brings errors that the package does not have now.
    """
    contents = {path: text.encode() for path, text in changes.items()}
    after = replace(before, files={**before.files, **contents})
    known = (
        {_key(problem) for problem in _errors(folder, before)} if _is_complete(before) else set()
    )
    problems = [problem for problem in _errors(folder, after) if _key(problem) not in known]
    if problems:
        raise InvalidInput(problems)


def _is_complete(files: PackageFiles) -> bool:
    return {OPERATOR_FILE, PARAMETERS_FILE} <= files.files.keys()


def _errors(folder: Path, files: PackageFiles) -> Iterable[Problem]:
    package = parse_package(files)
    located = Located(package, FolderLocation(folder.absolute()))
    findings = (*verify(package), *verify_dependencies(located))
    return [finding.problem for finding in findings if finding.is_error]


def _key(problem: Problem) -> tuple[str, str, str]:
    return problem.reason, problem.message, problem.field
