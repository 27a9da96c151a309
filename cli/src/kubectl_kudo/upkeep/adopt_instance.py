"""Asks for a record of what an Instance owns, and tells what was recorded."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError
from kubectl_kudo.core.session import Session
from kubectl_kudo.inventory.recorded import recorded
from kubectl_kudo.state.next_commands import flags_of
from kubectl_kudo.state.runs import key_of
from kubectl_kudo.upkeep.requesting import Upkeep, request, until_done
from kubectl_kudo.upkeep.result_events import events_of, message_since
from kudo.names import ANNOTATION_ADOPT_REQUESTED

ADOPT = Upkeep("adopt", ANNOTATION_ADOPT_REQUESTED)
_ADOPTED = "InventoryAdopted"


async def adopt(session: Session, args: Args) -> None:
    """Ask the reconciler to record what the Instance owns.

    Raises:
        CliError: the Instance does not exist or is being deleted, or the cluster has no
            Inventories.
        TimedOut: with `--wait`, it was not done in time.
    """
    instance = await session.existing_instance(args.instance)
    key = key_of(instance)
    known = await recorded(session, instance)
    if not known.served:
        # The reconciler of an older release would leave the request on the Instance for ever.
        raise CliError(f"nothing can be recorded: {known.problem}")
    before = await events_of(session, instance, _ADOPTED) if args.wait else None
    instance = await request(session, instance, ADOPT)
    session.report.say("it only reads and records: no object is changed or deleted")
    if session.report.dry:
        return
    if not args.wait:
        session.report.say(f"see the result: kubectl kudo get objects {flags_of(key)}")
        return
    await until_done(session, instance, ADOPT, limit=args.wait_time)
    told = await message_since(session, instance, _ADOPTED, before)
    if told:
        session.report.say(told)
    known = await recorded(session, instance)
    if known.record is None:
        session.report.say(f"instance {key} has no Inventory: {known.problem or 'it owns nothing'}")
        return
    count, state = len(known.record), "complete" if known.complete else "not complete"
    plural = "" if count == 1 else "s"
    session.report.say(f"instance {key} has {count} object{plural} on record; it is {state}")
