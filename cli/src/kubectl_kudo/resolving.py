"""Finds the package that the argument of `install` names: a folder or a `.tgz` file.

A bare word is the name of a package in a repository, in the original and in what comes later here;
it never means a folder of that name, so that adding a folder cannot change what a script installs.
"""

import re
from pathlib import Path

from kubectl_kudo.errors import CliError, listed
from kudo.packages import Package, read_package
from kudo.problems import InvalidInput, Problem

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def resolve(argument: str) -> Package:
    """Return the package.

    Raises:
        CliError: there is none, or it cannot be read; everything that is wrong with it is named.
    """
    headline = f"failed to resolve operator package for: {argument}"
    reason = _not_local(argument)
    if reason:
        raise CliError(f"{headline} {reason}")
    try:
        return read_package(Path(argument))
    except InvalidInput as error:
        raise CliError(listed(headline, _without(argument, error.problems))) from error


def _not_local(argument: str) -> str:
    if _URL.match(argument):
        return "URLs are not supported by this version; download the .tgz file first"
    bare = argument not in {".", ".."} and Path(argument).name == argument
    if not bare or argument.endswith(".tgz"):
        return ""
    hint = f"; for the folder of that name write ./{argument}" if Path(argument).is_dir() else ""
    return f"operator repositories are not supported by this version{hint}"


def _without(argument: str, problems: tuple[Problem, ...]) -> list[Problem]:
    """Return the problems; those of the package as a whole do not name it a second time."""
    return [
        Problem(problem.reason, problem.message)
        if problem.field and Path(problem.field) == Path(argument)
        else problem
        for problem in problems
    ]
