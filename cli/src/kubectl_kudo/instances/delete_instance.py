"""Deletes an Instance, and prints what is deleted with it and what stays."""

from contextlib import suppress

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import talk, warn
from kubectl_kudo.core.session import Session
from kubectl_kudo.instances.left_behind import left_behind
from kubectl_kudo.state.children import names_below
from kubectl_kudo.state.outcome import Target, outcome_of_removal
from kubectl_kudo.state.waiting import wait_and_show
from kubeio.errors import NotFound
from kudo.names import API_VERSION, FINALIZER_CLEANUP, PLAN_CLEANUP


async def uninstall(session: Session, args: Args) -> None:
    """Delete the Instance that is there now, and no other one of that name."""
    instance = await session.existing_instance(args.instance)
    left = await left_behind(session, instance)
    children = [name for one in await names_below(session, instance) for name in one.all()]
    with suppress(NotFound):  # another client deleted it meanwhile
        await session.writes.delete(INSTANCES, instance)
    session.report.done(f"instance.{API_VERSION}/{args.instance} deleted")
    session.report.say("")
    if session.report.dry and FINALIZER_CLEANUP in (instance["metadata"].get("finalizers") or []):
        session.report.say(f"plan {PLAN_CLEANUP} would run first")
    if children:
        talk(f"these instances are deleted with it: {', '.join(children)}")
    if left:
        warn(f"these cluster-scoped objects stay in the cluster: {', '.join(left)}")
    if args.wait and not session.report.dry:
        target = Target(instance["metadata"]["uid"], f"{session.namespace}/{args.instance}")
        await wait_and_show(
            session, target, instance, limit=args.wait_time, outcome_of=outcome_of_removal
        )
