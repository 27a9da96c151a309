"""Sets or removes `spec.suspend` of an Instance, and of the Instances below it."""

from collections.abc import Sequence

from kubectl_kudo.reading.children import listed_below
from kubectl_kudo.reading.next_commands import flags_of
from kubectl_kudo.reading.plan_view import is_pending
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.reading.suspension import MEANING, is_deleting
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import KubeError


async def instances_below(session: Session, instance: JsonObject, args: Args) -> list[JsonObject]:
    """Return the Instances below this one, parents first; none without `--children`."""
    names = await listed_below(session, instance) if args.children else ()
    wanted = [one for child in names for one in child.all()]
    found = [await session.instance(one.name) for one in wanted]
    return [one for one in found if one is not None]


async def write_all(session: Session, found: Sequence[JsonObject], *, suspended: bool) -> None:
    """Write to each Instance; an error names those that were written before it, and the rest."""
    for number, instance in enumerate(found):
        try:
            await _write(session, instance, suspended=suspended)
        except (KubeError, CliError) as error:
            if len(found) > 1:
                done, rest = _names(found[:number]), _names(found[number:])
                error.add_note(f"\n  done before: {done or 'none'}\n  not done: {rest}")
            raise


async def _write(session: Session, instance: JsonObject, *, suspended: bool) -> None:
    key = key_of(instance)
    if suspended and is_deleting(instance):
        session.report.say(f"Instance {key} is being deleted, which no pause holds up")
        return
    if bool(instance["spec"].get("suspend")) == suspended:
        state = "already" if suspended else "not"
        session.report.say(f"Instance {key} is {state} suspended")
        return
    # The uid makes the API server refuse another Instance that has this name by now.
    metadata = {"uid": instance["metadata"]["uid"]}
    patch = {"metadata": metadata, "spec": {"suspend": True if suspended else None}}
    name = instance["metadata"]["name"]
    after = await session.writes.merge_patch(INSTANCES, session.namespace, name, patch)
    session.report.done(f"{'Suspended' if suspended else 'Resumed'} {key} instance")
    session.report.say(_held_up(after) if suspended else _going_on(after))


def _held_up(instance: JsonObject) -> str:
    run, command = active(instance), f"`kubectl kudo resume {flags_of(key_of(instance))}`"
    if run is None:
        return f"no plan is running; one that is to run waits until {command}"
    if is_pending(instance, run.plan):
        return f"plan {run.plan} was not started yet, and waits until {command}"
    return f"plan {run.plan} is held up: {MEANING} until {command}"


def _going_on(instance: JsonObject) -> str:
    run = active(instance)
    if run is None:
        return "no plan was held up"
    return f"plan {run.plan} {'begins' if is_pending(instance, run.plan) else 'goes on'}"


def show_written(session: Session, args: Args) -> None:
    written = session.writes.objects
    if args.children:
        session.report.show_all(written)
    elif written:
        session.report.show(written[-1])


def _names(instances: Sequence[JsonObject]) -> str:
    return ", ".join(str(one["metadata"]["name"]) for one in instances)
