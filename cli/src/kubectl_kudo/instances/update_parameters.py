"""Sets parameters of an Instance, and waits for the plan that they trigger."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import JsonObject, say, talk
from kubectl_kudo.core.session import Session
from kubectl_kudo.state.outcome import triggered, triggered_plan
from kubectl_kudo.state.unknown_names import parameters_suggested
from kubectl_kudo.state.waiting import wait_and_show


async def update(session: Session, args: Args, values: dict[str, str]) -> None:
    """Set the values and, if wanted, wait for the run that this triggers."""
    before = await session.existing_instance(args.instance)
    patch: JsonObject = {"spec": {"parameters": values}}
    async with parameters_suggested(session, args.instance, values):
        after = await session.writes.merge_patch(INSTANCES, session.namespace, args.instance, patch)
    session.report.done(f"Instance {args.instance} was updated.")
    session.report.foretell(triggered_plan(before, after))
    session.report.show(session.writes.objects[-1])
    if args.wait and not session.report.dry:
        await _wait(session, args, before, after)


async def _wait(session: Session, args: Args, before: JsonObject, after: JsonObject) -> None:
    target = triggered(before, after)
    if target is None:
        talk("The values were set already: no plan was triggered, there is nothing to wait for.")
        return
    await wait_and_show(session, target, after, limit=args.wait_time)
    say(f"instance {target.key} ready")
