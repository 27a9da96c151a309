"""`kubectl kudo package list tasks`: the tasks of a package."""

from kubectl_kudo.commands.package.list.parameters import package_of
from kubectl_kudo.session.arguments import OUTPUT, REPOSITORY, Args
from kubectl_kudo.session.blocks import Column, Table
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import check_format, many, show
from kubectl_kudo.session.terminal import word
from kudo.api.task_kinds import kind_of
from kudo.authoring.description import task_data


def run(args: Args) -> None:
    """Print the tasks in the order of the package.

    Raises:
        CliError: the package cannot be read.
    """
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    check_format(args.output)
    tasks = package_of(args).operator.tasks
    if args.output:
        print(many(map(task_data, tasks), args.output), end="")
    elif not tasks:
        print("no tasks  found")
    else:
        rows = [(task.name, task.kind, word(kind_of(task).listed(task))) for task in tasks]
        show(Table(("Name", Column("Kind", kept=True), "Resources"), rows, original=True))


COMMAND = Command(
    run,
    "<folder|tgz|url|name>",
    (OUTPUT, *REPOSITORY),
    examples=(("Names, kinds and templates", "package list tasks ./web"),),
)
