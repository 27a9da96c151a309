"""`kubectl kudo package docs`: writes the reference of a package in Markdown."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - directory or archive of the operator")
    from kubectl_kudo.authoring.print_docs import print_docs

    print_docs(args)


COMMAND = Command(
    run,
    "[folder|tgz]",
    more="It has the plans with their phases and steps, and the parameters by group, with display "
    "names,\ndescriptions, hints, types and defaults; advanced parameters come last.\n\n"
    "Without an argument, the package is the working directory or the only folder in it that is "
    "one.",
    examples=(("Beside the package", "package docs ./web > web.md"),),
)
