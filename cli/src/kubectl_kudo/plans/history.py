"""`kubectl kudo plan history`: shows the last runs of an Instance, and how they ended."""

from kubectl_kudo.core.arguments import INSTANCE, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError

_FORMATS = ("", "table", "wide", "name", "json", "yaml")


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError("please choose the instance with '--instance=<instanceName>'")
    if args.output not in _FORMATS:
        raise UsageError(f"invalid output format: use {', '.join(_FORMATS[1:-1])} or yaml")
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.show_history import history

    in_session(args, lambda session: history(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(
            ("--output", "-o"),
            "table or wide: the runs alone; name, json or yaml: as data",
            "format",
        ),
    ),
    more="The tree has a line for each plan. The table below it has the runs that have ended, the "
    "newest\nfirst: as many as `spec.historyLimit` of the instance says, 10 if it is not set. A "
    "duration includes\nthe time that the instance was suspended; -o wide shows that time, too.\n\n"
    "With -o json or yaml the last run of each plan is printed as data, and in its `history` the "
    "runs\nof the plan that have ended.",
    examples=(
        ("The last run of each plan, and the runs that have ended", "plan history --instance web"),
        ("Only the runs, with messages and whole uids", "plan history --instance web -o wide"),
        ("With phases, steps and messages", "plan history --instance web -o yaml"),
    ),
)
