"""Prints the reference of a package."""

from kubectl_kudo.authoring.package_folder import package_folder
from kubectl_kudo.core.arguments import Args
from kudo.authoring.markdown import package_markdown
from kudo.packages import read_package


def print_docs(args: Args) -> None:
    """Print the reference of the package in a folder or an archive.

    Raises:
        CliError: no package is named, and none is found.
        InvalidInput: it cannot be read.
    """
    package = read_package(args.arguments[0] if args.arguments else package_folder())
    print(package_markdown(package), end="")
