"""Finds the package that the argument of `install` names, and the packages that it depends on.

The argument is a folder or a `.tgz` file. A bare word is the name of a package in a repository, as
in KUDO 0.19; it never means a folder of that name, so that adding a folder cannot change what a
script installs.
"""

from pathlib import Path

from kubectl_kudo.core.errors import CliError, listed
from kubectl_kudo.core.kinds import OPERATOR_VERSIONS
from kubectl_kudo.core.session import Session
from kubectl_kudo.packages.installed_versions import lookup_in
from kudo.packages import Located, Resolution, depends, locate, resolve
from kudo.packages.location import is_url
from kudo.problems import InvalidInput, Problem


async def with_dependencies(session: Session, located: Located) -> Resolution:
    """Return the package with what it depends on, in the file system and in the namespace.

    Raises:
        InvalidInput: as of `resolve`.
    """
    if not depends(located.package):
        return Resolution(located.package)
    versions = await session.client.list(OPERATOR_VERSIONS, namespace=session.namespace)
    return resolve(located, lookup_in(session.namespace, versions.items))


def find(argument: str) -> Located:
    """Return the package that an argument names.

    Raises:
        CliError: there is none, or it cannot be read; the text lists all problems.
    """
    headline = f"failed to resolve operator package for: {argument}"
    reason = _not_local(argument)
    if reason:
        raise CliError(f"{headline} {reason}")
    try:
        return locate(argument)
    except InvalidInput as error:
        raise CliError(listed(headline, _without(argument, error.problems))) from error


def _not_local(argument: str) -> str:
    if is_url(argument):
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
