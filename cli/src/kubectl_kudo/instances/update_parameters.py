"""`kubectl kudo update`: sets parameters of an Instance, which runs the plan that they trigger."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import UsageError, no_arguments
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import JsonObject, say, talk
from kubectl_kudo.core.session import Session, in_session
from kubectl_kudo.instances.values import given_values
from kubectl_kudo.state.outcome import triggered, triggered_plan
from kubectl_kudo.state.waiting import wait_and_show


def run(args: Args) -> None:
    no_arguments("update", args.arguments)
    if not args.instance:
        raise UsageError(
            "--instance flag has to be provided to indicate which instance you want to update"
        )
    values = given_values(args)
    if not values:
        raise UsageError(
            "need to specify at least one parameter to override via -p otherwise there is nothing "
            "to update"
        )
    in_session(args, lambda session: update(session, args, values))


async def update(session: Session, args: Args, values: dict[str, str]) -> None:
    """Set the values and, if wanted, wait for the run that this triggers."""
    before = await session.existing_instance(args.instance)
    patch: JsonObject = {"spec": {"parameters": values}}
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
