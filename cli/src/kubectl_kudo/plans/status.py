"""`kubectl kudo plan status`: shows the plans of an Instance as a tree, or its status as data."""

from kubectl_kudo.core.arguments import INSTANCE, OUTPUT, WAIT, Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import no_arguments


def run(args: Args) -> None:
    no_arguments("plan status", args.arguments)
    from kubectl_kudo.core.output import check_format
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.show_status import status

    check_format(args.output)
    in_session(args, lambda session: status(session, args))


COMMAND = Command(
    "plan status",
    "Show the plans of an instance, and the progress of the last one.",
    run,
    flags=(INSTANCE, WAIT, OUTPUT),
    required=("instance",),
    more="With --wait the command ends when the plan does: with success on COMPLETE, with an "
    "error on\nFATAL_ERROR. With -o it prints the status of the instance as data.",
    examples=(
        ("Watch the plan until it ends", "plan status --instance web --wait"),
        ("The status as YAML", "plan status --instance web -o yaml"),
    ),
)
