"""`kubectl kudo package docs`: writes the reference of a package in Markdown."""

from kubectl_kudo.packages.package_folder import package_folder
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kudo.authoring.description import package_markdown
from kudo.packages.reader import read_package


def run(args: Args) -> None:
    """Print the reference of the package in a folder or an archive.

    Raises:
        CliError: no package is named, and none is found.
        InvalidInput: it cannot be read.
    """
    if len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - directory or archive of the operator")
    package = read_package(args.arguments[0] if args.arguments else package_folder())
    print(package_markdown(package), end="")


COMMAND = Command(
    run,
    "[folder|tgz]",
    more="It has the plans with their phases and steps, and the parameters by group, with display "
    "names,\ndescriptions, hints, types and defaults; advanced parameters come last.\n\n"
    "Without an argument, the package is the working directory or the only folder in it that is "
    "one.",
    examples=(("Beside the package", "package docs ./web > web.md"),),
)
