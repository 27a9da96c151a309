"""Reads the package that an argument of `package list` names."""

from kubectl_kudo.core.errors import CliError, listed
from kudo.packages import Package, read_package
from kudo.problems import InvalidInput


def package_of(argument: str) -> Package:
    """Return the package in a folder or an archive.

    Raises:
        CliError: there is none, or it cannot be read; the text lists all problems.
    """
    try:
        return read_package(argument)
    except InvalidInput as error:
        headline = f"failed to resolve package files for operator: {argument}:"
        raise CliError(listed(headline, error.problems)) from error
