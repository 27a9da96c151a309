"""`kubectl kudo package list plans`: the plans of a package."""

from kubectl_kudo.core.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    from kubectl_kudo.authoring.listing.print_plans import print_plans

    print_plans(args)


COMMAND = Command(
    run,
    "<folder|tgz|url|name>",
    (
        Flag(
            ("--with-tasks", "-t"), "show kinds and templates of the tasks as well", default=False
        ),
        OUTPUT,
        *REPOSITORY,
    ),
    examples=(
        ("Plans, phases, steps and tasks", "package list plans ./web"),
        ("The templates of each task as well", "package list plans ./web --with-tasks"),
    ),
)
