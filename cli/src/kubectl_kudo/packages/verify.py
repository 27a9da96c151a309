"""`kubectl kudo package verify`: checks a package, without a cluster."""

from kubectl_kudo.core.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    from kubectl_kudo.packages.verify_package import verify_package

    verify_package(args)


COMMAND = Command(
    "package verify",
    "Check a package; no cluster is contacted.",
    run,
    "<folder|tgz|url|name>",
    (
        Flag(OUTPUT.names, "yaml or json: print the findings so", OUTPUT.value),
        *REPOSITORY,
    ),
    more="Errors keep a package from being installed or its plans from running; warnings do not. "
    "Templates\nare rendered with the defaults of the parameters. With errors the command fails.",
    examples=(
        ("Check the package in a folder", "package verify ./web"),
        ("For tools: errors, warnings and valid", "package verify ./web -o json"),
    ),
)
