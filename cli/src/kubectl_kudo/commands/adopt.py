"""`kubectl kudo adopt`: has the reconciler record what an Instance owns."""

from kubectl_kudo.instances.requests import Maintenance
from kubectl_kudo.reading.events import events_of, message_since
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.inventory import recorded
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.session.arguments import INSTANCE, WAIT_TIME, WRITING, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.session import Session, in_session
from kudo.api.names import ANNOTATION_ADOPT_REQUESTED

ADOPT = Maintenance("adopt", ANNOTATION_ADOPT_REQUESTED)
_ADOPTED = "InventoryAdopted"


def run(args: Args) -> None:
    in_session(args, lambda session: adopt(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--wait",), "wait until it is recorded", default=False),
        WAIT_TIME,
        *WRITING,
    ),
    required=("instance",),
    more="An instance that KUDO 0.19 or an older release has run gets its Inventory at its next\n"
    "run, and objects that earlier runs applied are not in it. This command makes it complete:\n"
    "KUDO looks for all objects with the labels and the uid of the instance, as the account of\n"
    "the instance, and records them. It only reads and records: no object is changed or\n"
    "deleted, and no plan runs. Kinds that the account may write and not list are named, and\n"
    "the Inventory is then not complete.\n"
    "\n"
    "It is done when no plan runs and the instance is not suspended. To repeat it does no\n"
    "harm: what is on record stays as it is.",
    examples=(
        ("Record what an instance owns, and show it", "adopt --instance web --wait"),
        ("What is on record then", "get objects --instance web"),
        ("Would the request be accepted?", "adopt --instance web --dry-run=server"),
    ),
)


async def adopt(session: Session, args: Args) -> None:
    """Ask the reconciler to record what the Instance owns.

    Raises:
        CliError: the Instance does not exist or is being deleted, or the cluster has no
            Inventories.
        TimedOut: with `--wait`, it was not done in time.
    """
    instance = await session.existing_instance(args.instance)
    key = key_of(instance)
    inventory = await recorded(session, instance)
    if not inventory.served:
        # The reconciler of an older release would leave the request on the Instance for ever.
        raise CliError(f"nothing can be recorded: {inventory.problem}")
    before = await events_of(session, instance, _ADOPTED) if args.wait else None
    instance = await ADOPT.request(session, instance)
    session.report.say("it only reads and records: no object is changed or deleted")
    if session.report.dry:
        return
    if not args.wait:
        session.report.say(f"see the result: kubectl kudo get objects {flags_of(key)}")
        return
    await ADOPT.until_done(session, instance, limit=args.wait_time)
    # Only the event names the kinds that could not be listed.
    message = await message_since(session, instance, _ADOPTED, before)
    if message:
        session.report.say(message)
    inventory = await recorded(session, instance)
    if inventory.record is None:
        why = inventory.problem or "it owns nothing"
        session.report.say(f"instance {key} has no Inventory: {why}")
        return
    count, state = len(inventory.record), "complete" if inventory.complete else "not complete"
    plural = "" if count == 1 else "s"
    session.report.say(f"instance {key} has {count} object{plural} on record; it is {state}")
