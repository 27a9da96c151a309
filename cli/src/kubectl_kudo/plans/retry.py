"""`kubectl kudo plan retry`: goes on with the last run of a plan, which failed."""

from kubectl_kudo.core.arguments import CHANGE_HELP, INSTANCE, WAITING, WRITING, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError("please choose the instance with '--instance=<instanceName>'")
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.retry_plan import retry

    in_session(args, lambda session: retry(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--name",), "name of the plan (default: the one that ran last)", "plan"),
        Flag(
            ("--from",),
            "step to begin at (default: the first unfinished one); those before count as finished",
            "phase.step",
        ),
        *WAITING,
        *WRITING,
    ),
    more="The step that failed and all unfinished ones run again, as a new run. Only the last run "
    "of a\nplan can be retried, if it failed, and only with the OperatorVersion and the parameters "
    "that it\nbegan with. Otherwise start over: `plan trigger`.\n\n"
    "With --from every step before it counts as finished, also if it is not, and all others run.\n"
    "The command tells which steps these are before it sends anything.\n\n" + CHANGE_HELP,
    examples=(
        ("Go on where the last plan failed", "plan retry --instance web"),
        ("See first what would run again", "plan retry --instance web --dry-run=client"),
        (
            "Begin at a later step, and wait for the end",
            "plan retry --instance web --name backup --from main.upload --wait",
        ),
    ),
)
