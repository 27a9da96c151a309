"""`kubectl kudo plan wait`: waits for the run in progress, and fails if it does."""

from kubectl_kudo.reading.outcome import outcome_of_present, present_run
from kubectl_kudo.reading.plan_view import shown_plan
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import INSTANCE, WAIT_TIME, Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.output import say
from kubectl_kudo.session.session import Session, in_session


def run(args: Args) -> None:
    in_session(args, lambda session: wait(session, args))


COMMAND = Command(
    run,
    flags=(INSTANCE, WAIT_TIME),
    required=("instance",),
    more="The command ends with success on COMPLETE and with an error on FATAL_ERROR, naming the "
    "step.\nWhere no plan is running, it reports the result of the last one at once.",
    examples=(
        ("Wait for what `kubectl apply` has started", "plan wait --instance web"),
        ("Wait for ten minutes at most", "plan wait --instance web --wait-time 10m"),
    ),
)


async def wait(session: Session, args: Args) -> None:
    """Wait for the end of the run; return at once if it has ended."""
    instance = await session.existing_instance(args.instance)
    target = present_run(instance)
    if target is None:
        say(f"No plan ever run for instance - nothing to wait for with instance {args.instance}")
        return
    end = await wait_and_show(
        session, target, instance, limit=args.wait_time, outcome_of=outcome_of_present
    )
    say(f"plan {shown_plan(end or instance)} of instance {target.key} is COMPLETE")
