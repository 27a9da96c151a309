"""Waits for the run in progress; reports the result of one that has ended at once."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.output import say
from kubectl_kudo.core.session import Session
from kubectl_kudo.state.outcome import outcome_of_present, present_run
from kubectl_kudo.state.plan_view import shown_plan
from kubectl_kudo.state.waiting import wait_and_show


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
