"""`kubectl kudo plan history`: shows how the last run of each plan of an Instance ended."""

from kubectl_kudo.core.arguments import INSTANCE, OUTPUT, Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError, no_arguments


def run(args: Args) -> None:
    no_arguments("plan history", args.arguments)
    if not args.instance:
        raise UsageError("please choose the instance with '--instance=<instanceName>'")
    from kubectl_kudo.core.output import check_format
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.show_history import history

    check_format(args.output)
    in_session(args, lambda session: history(session, args))


COMMAND = Command(
    "plan history",
    "Show how and when the last run of each plan ended.",
    run,
    flags=(INSTANCE, OUTPUT),
    more="The cluster keeps the last run of each plan. With -o it is printed as data.",
    examples=(
        ("The last run of each plan", "plan history --instance web"),
        ("With phases, steps and messages", "plan history --instance web -o yaml"),
    ),
)
