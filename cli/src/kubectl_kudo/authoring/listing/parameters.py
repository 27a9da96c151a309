"""`kubectl kudo package list parameters`: the parameters of a package."""

from kubectl_kudo.core.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError

FLAGS = (
    Flag(("--descriptions", "-d"), "show descriptions as well", default=False),
    Flag(("--required", "-r"), "only those that have to be set: no default", default=False),
    Flag(("--names",), "only names", default=False),
    OUTPUT,
    *REPOSITORY,
)


def run(args: Args) -> None:
    if len(args.arguments) > 1:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    if args.descriptions + args.required + args.names > 1:
        raise UsageError("only one of the flags 'required', 'names', 'descriptions' can be set")
    from kubectl_kudo.authoring.listing.print_parameters import print_parameters

    print_parameters(args)


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
