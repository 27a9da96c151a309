"""Schedules a run of a plan, and waits for it."""

from uuid import uuid4

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import say
from kubectl_kudo.core.session import Session
from kubectl_kudo.state.outcome import triggered
from kubectl_kudo.state.unknown_names import plans_suggested
from kubectl_kudo.state.waiting import wait_and_show


async def trigger(session: Session, args: Args) -> None:
    """Schedule the plan under a fresh uid, so that a running one starts again."""
    # A status left over from an earlier run would end the new one at once.
    execution = {"planName": args.name, "uid": str(uuid4()), "status": None}
    patch = {"spec": {"planExecution": execution}}
    async with plans_suggested(session, args.instance, args.name):
        after = await session.writes.merge_patch(INSTANCES, session.namespace, args.instance, patch)
    key = f"{session.namespace}/{args.instance}"
    session.report.done(f"Triggered {args.name} plan for {key} instance")
    session.report.show(session.writes.objects[-1])
    if args.wait and not session.report.dry:
        target = triggered(None, after)
        if target is None or target.plan != args.name:
            raise CliError(f"plan {args.name} was not scheduled; is it in progress already?")
        await wait_and_show(session, target, after, limit=args.wait_time)
        say(f"instance {target.key} ready")
