"""`kubectl kudo package list tasks`: the tasks of a package."""

from kubectl_kudo.core.arguments import OUTPUT, REPOSITORY, Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    from kubectl_kudo.authoring.listing.print_tasks import print_tasks

    print_tasks(args)


COMMAND = Command(
    run,
    "<folder|tgz|url|name>",
    (OUTPUT, *REPOSITORY),
    examples=(("Names, kinds and templates", "package list tasks ./web"),),
)
