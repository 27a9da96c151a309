"""`kubectl kudo plan status`: shows the plans of an Instance as a tree, or its status as data."""

from kubectl_kudo.core.arguments import INSTANCE, OUTPUT, WAIT, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    args.wait = args.wait or args.watch
    if args.plan and (args.all or args.wait):
        other = "--all" if args.all else "--watch" if args.watch else "--wait"
        raise UsageError(f"--plan and {other} cannot be combined: {other} is not about one plan")
    from kubectl_kudo.core.output import check_format
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.show_status import status

    check_format(args.output)
    in_session(args, lambda session: status(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--plan",), "show this plan instead", "plan"),
        Flag(("--all",), "show all plans in the form of KUDO 0.19", default=False),
        WAIT,
        Flag(("--watch",), "the same as --wait", default=False),
        OUTPUT,
    ),
    required=("instance",),
    more="Other plans take a line each, and those that never ran one line together. Below a step\n"
    "that waits stand the last events of the objects that it waits for.\n"
    "\n"
    "With --wait the command ends when the plan does: with success on COMPLETE, with an\n"
    "error on FATAL_ERROR. Meanwhile each task that runs has a line: since when, how often\n"
    "it failed, and when it is tried next; and so has the time limit that comes first: when\n"
    "it passes. With -o it prints the status of the instance as data, with --plan that of\n"
    "the plan.",
    examples=(
        ("The plan that runs, or ran last", "plan status --instance web"),
        ("Watch the plan until it ends", "plan status --instance web --wait"),
        ("How the last run of the plan `backup` went", "plan status --instance web --plan backup"),
        ("The status as YAML", "plan status --instance web -o yaml"),
    ),
)
