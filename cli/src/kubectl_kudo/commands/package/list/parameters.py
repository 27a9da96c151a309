"""`kubectl kudo package list parameters`: the parameters of a package."""

from pathlib import Path

from kubectl_kudo.packages.package_folder import package_folder
from kubectl_kudo.packages.sources import found, is_local
from kubectl_kudo.session.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.session.blocks import Table
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError, listed
from kubectl_kudo.session.output import check_format, many, show
from kudo.api.problems import InvalidInput
from kudo.authoring.description import (
    bounds_of,
    default_of,
    missing_values,
    parameter_data,
    sorted_parameters,
)
from kudo.packages.model import Package, PackageParameter
from kudo.packages.reader import read_package

_WIDTH = 35
"""Columns of a cell, as in KUDO 0.19."""
FLAGS = (
    Flag(("--descriptions", "-d"), "show descriptions as well", default=False),
    Flag(("--required", "-r"), "only those that have to be set: no default", default=False),
    Flag(("--names",), "only names", default=False),
    OUTPUT,
    *REPOSITORY,
)


def run(args: Args) -> None:
    """Print the parameters, sorted by name.

    Raises:
        CliError: the package cannot be found or read.
    """
    if len(args.arguments) > 1:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    if args.descriptions + args.required + args.names > 1:
        raise UsageError("only one of the flags 'required', 'names', 'descriptions' can be set")
    check_format(args.output)
    package = package_of(args) if args.arguments else package_at(str(package_folder()))
    parameters = missing_values(package) if args.required else sorted_parameters(package)
    if args.output:
        print(many(map(parameter_data, parameters), args.output), end="")
    elif args.required and not parameters:
        print("no required parameters without default values found")
    elif args.names or args.required:
        show(Table(("Name",), [(parameter.name,) for parameter in parameters], original=True))
    else:
        show(_table(parameters, args))


COMMAND = Command(
    run,
    "[folder|tgz|url|name]",
    FLAGS,
    more="Without an argument, the package is the working directory or the only folder in it that "
    "is one.",
    examples=(
        ("Names and defaults", "package list parameters ./web"),
        ("What has to be set to install it", "package list parameters ./web --required"),
    ),
)


def _table(parameters: list[PackageParameter], args: Args) -> Table:
    more = args.descriptions
    # As in KUDO 0.19 where no parameter has any.
    bounds = {parameter.name: bounds_of(parameter) for parameter in parameters}
    bounded = any(bounds.values())
    rows = [
        (
            parameter.name,
            "(secret)" if parameter.secret else default_of(parameter) or "",
            str(parameter.required).lower(),
            str(parameter.immutable).lower(),
            *([bounds[parameter.name]] if bounded else []),
            *([parameter.description] if more else []),
        )
        for parameter in parameters
    ]
    columns = (
        *("Name", "Default", "Required", "Immutable"),
        *(["Bounds"] if bounded else []),
        *(["Descriptions"] if more else []),
    )
    return Table(columns, rows, original=True, width=_WIDTH)


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
