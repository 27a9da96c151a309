"""Reads the package that an argument of `package list` names."""

from pathlib import Path

from kubectl_kudo.packages.sources import found, is_local
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, listed
from kudo.api.problems import InvalidInput
from kudo.packages.model import Package
from kudo.packages.reader import read_package

_NOT_FOUND = "failed to resolve package files for operator: {}:"


def package_of(args: Args) -> Package:
    """Return the package that the argument names: a path, a URL, or a name in a repository.

    A bare word is the folder of that name, if there is one: nothing is installed from it.

    Raises:
        CliError: there is none, or it cannot be read; the text lists all problems.
    """
    argument = args.arguments[0]
    if is_local(argument) or Path(argument).exists():
        return package_at(argument)
    return found(args, _NOT_FOUND).package


def package_at(path: str) -> Package:
    """Return the package in a folder or an archive.

    Raises:
        CliError: there is none, or it cannot be read; the text lists all problems.
    """
    try:
        return read_package(path)
    except InvalidInput as error:
        raise CliError(listed(_NOT_FOUND.format(path), error.problems)) from error
