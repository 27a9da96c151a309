"""`kubectl kudo package verify`: checks a package, without a cluster."""

from kubectl_kudo.core.arguments import REPOSITORY, Args, Flag
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
    run,
    "<folder|tgz|url|name>",
    (
        Flag(
            ("--output", "-o"),
            "yaml, json or sarif: print the findings in this format",
            "format",
        ),
        Flag(
            ("--param-checks",),
            "warn of parameters without texts for people: display, hint, desc, type, hasgroup, "
            "groups, all; comma-separated or repeated",
            "checks",
            repeat=True,
        ),
        Flag(("--fix",), "correct what has only one correction; comments stay", default=False),
        *REPOSITORY,
    ),
    more="Errors keep a package from being installed or its plans from running; warnings do not.\n"
    "Templates are rendered with the defaults of the parameters. With errors the command fails.\n\n"
    "install, upgrade and package create make the same checks first; --skip-verify leaves them "
    "out.",
    examples=(
        ("Check the package in a folder", "package verify ./web"),
        ("For tools: errors, warnings, valid and findings", "package verify ./web -o json"),
        ("For code scanning in CI", "package verify ./web -o sarif"),
        ("Correct misspelt fields, missing quotes and more", "package verify ./web --fix"),
        ("Are all parameters described?", "package verify ./web --param-checks desc,display"),
    ),
)
