"""`kubectl kudo prune`: has the reconciler delete the orphans of an Instance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubectl_kudo.instances.requests import Maintenance
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.inventory import (
    Condition,
    Live,
    LivingSharers,
    Recorded,
    identity_of,
    read_live,
    recorded,
)
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.session.arguments import INSTANCE, NONE, WAIT_TIME, WRITING, Args, Flag
from kubectl_kudo.session.asking import confirmed, on_terminal
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session, in_session
from kubeio.errors import Forbidden
from kudo.api.identity import InstanceIdentity
from kudo.api.names import ANNOTATION_PRUNE_REQUESTED
from kudo.objects.inventory.orphans import in_order, why_kept
from kudo.objects.inventory.record import Place

PRUNE = Maintenance("prune", ANNOTATION_PRUNE_REQUESTED)


def run(args: Args) -> None:
    """Show the orphans, ask, and have those deleted that were shown.

    Raises:
        UsageError: confirmation is needed, and stdin is not a terminal.
        CliError: KUDO would delete nothing, the answer was no, or the orphans changed meanwhile.
        TimedOut: with `--wait`, they were not deleted in time.
    """
    seen: list[Orphans] = []
    in_session(args, lambda session: _look(session, args, seen))
    (orphans,) = seen
    if not orphans.going:
        return
    if orphans.undecided:
        raise CliError(f"nothing is deleted: {orphans.undecided}")
    if args.dry_run == NONE and not args.yes:
        if not on_terminal():
            raise UsageError(
                "'prune' asks for confirmation, and stdin is not a terminal: give --yes; "
                "--dry-run=client shows what would be deleted"
            )
        count = len(orphans.going)
        objects = "this object" if count == 1 else f"these {count} objects"
        if not confirmed(f"Delete {objects}?"):
            raise CliError("nothing was deleted")
    in_session(args, lambda session: _delete(session, args, orphans))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--wait",), "wait until they are deleted, and tell which are", default=False),
        WAIT_TIME,
        Flag(("--yes",), "do not ask", default=False),
        *WRITING,
    ),
    required=("instance",),
    more="An object becomes an orphan when the task that applied it has run without it, or when\n"
    "the version of the instance has no such task any more. The command lists what would be\n"
    "deleted, and what stays and why, asks, and has KUDO delete it as the account of the\n"
    "instance. It is done when no plan runs and the instance is not suspended.\n"
    "\n"
    "What another instance shares, what is retained or adopted, and what belongs to\n"
    "somebody else by now stays. So do Namespaces, CustomResourceDefinitions,\n"
    "PersistentVolumes and PersistentVolumeClaims, unless they have the annotation\n"
    'kudo.dev/prune: "true".\n'
    "\n"
    "`prune: true` in operator.yaml, or in the spec of an instance, has orphans deleted after\n"
    "each plan, without this command.\n"
    "\n"
    "The exit code is 0 when the request is made, with --wait when KUDO has done it, also if\n"
    "objects stay: status.orphans of the instance then names them.",
    examples=(
        ("What would be deleted, and what stays?", "prune --instance web --dry-run=client"),
        ("Delete it after a question, and tell what is deleted", "prune --instance web --wait"),
        ("In a script", "prune --instance web --wait --yes"),
    ),
)


@dataclass(frozen=True, slots=True)
class Orphans:
    """The orphans of an Instance, in the order in which they would be deleted.

    Attributes:
        instance: The Instance.
        going: Those that may be deleted, and those of which the user cannot know.
        doubts: By place, why KUDO may have to keep one of them.
        staying: Those that stay, with the reason.
        undecided: Why none of them would be deleted now; empty if nothing speaks against it.
    """

    instance: JsonObject
    going: tuple[Live, ...]
    doubts: Mapping[Place, str]
    staying: tuple[tuple[Live, str], ...]
    undecided: str = ""

    def identities(self) -> frozenset[tuple[str, str]]:
        """Return places and uids of what may be deleted."""
        return frozenset(
            (str(live.entry.place), str((live.metadata or {}).get("uid"))) for live in self.going
        )


async def _look(session: Session, args: Args, seen: list[Orphans]) -> None:
    instance = await session.existing_instance(args.instance)
    inventory = await recorded(session, instance)
    orphans = await _orphans(session, instance, inventory)
    if orphans.going:
        orphans = replace(orphans, undecided=await _undecided(session, instance))
    seen.append(orphans)
    _show(session, orphans, inventory)


async def _orphans(session: Session, instance: JsonObject, inventory: Recorded) -> Orphans:
    owner, sharers = identity_of(instance), LivingSharers(session.client)
    going: list[Live] = []
    doubts: dict[Place, str] = {}
    staying: list[tuple[Live, str]] = []
    for live in await read_live(session.client, in_order(inventory.orphans()), health=False):
        if live.condition is Condition.MISSING:
            continue
        why, doubt = await _why(live, owner, sharers)
        if why:
            staying.append((live, why))
            continue
        going.append(live)
        if doubt:
            doubts[live.entry.place] = doubt
    return Orphans(instance, tuple(going), doubts, tuple(staying))


async def _undecided(session: Session, instance: JsonObject) -> str:
    """Return why KUDO would delete nothing; empty if it would, or that cannot be known yet."""
    # The models take longer to import than all the rest; without orphans nothing needs them.
    from pydantic import ValidationError

    from kudo.api import Instance, OperatorVersion
    from kudo.plans.runs.needs import why_undecided

    # The request waits for the end of the run, which may bring another version into force.
    if active(instance) is not None:
        return ""
    try:
        version = await session.version_of(instance)
    # The reconciler reads it with its own rights, and decides.
    except Forbidden:
        return ""
    if version is None:
        return "the OperatorVersion of the instance does not exist"
    try:
        return why_undecided(Instance.from_wire(instance), OperatorVersion.from_wire(version))
    except ValidationError:
        return ""


async def _why(live: Live, owner: InstanceIdentity, sharers: LivingSharers) -> tuple[str, str]:
    """Return why pruning leaves an orphan, and why it may; both are empty if it deletes it."""
    # The user may not read it; KUDO may, so it is among those that may go.
    if live.metadata is None:
        return "", live.message
    # Instances share only cluster-scoped objects.
    if not live.entry.cluster_scoped:
        return why_kept(live.entry, live.metadata, owner, shared_with=None), ""
    sharing = await sharers.of(live.metadata, owner)
    return why_kept(live.entry, live.metadata, owner, shared_with=sharing.living), sharing.doubt


def _show(session: Session, orphans: Orphans, inventory: Recorded) -> None:
    say, key = session.report.say, key_of(orphans.instance)
    if inventory.record is None:
        say(f"instance {key} has no record of what it owns, so no orphans are known")
        talk(inventory.problem or f"Record it: kubectl kudo adopt {flags_of(key)}")
        return
    if not orphans.going and not orphans.staying:
        say(f"instance {key} has no orphans")
        return
    going = [f"orphans of instance {key} to delete:"]
    for live in orphans.going:
        doubt = orphans.doubts.get(live.entry.place, "")
        unless = f", unless KUDO has to keep it: {printable(doubt, 200)}" if doubt else ""
        going.append(f"{_named(live)}{unless}")
    staying = [f"{_named(live)}: {why}" for live, why in orphans.staying]
    if orphans.going:
        say("\n  ".join(going))
    if staying:
        say("\n  ".join([f"orphans of instance {key} that stay:", *staying]))
    if not orphans.going:
        say("there is nothing to delete")


def _named(live: Live) -> str:
    entry = live.entry
    by = f" ({entry.plan}/{entry.task})" if entry.plan and entry.task else ""
    return printable(f"{entry.place}{by}")


async def _delete(session: Session, args: Args, agreed: Orphans) -> None:
    """Request the deletion, if what would be deleted is what was shown."""
    instance = await session.existing_instance(args.instance)
    # Read again, since the user took time to answer.
    orphans = await _orphans(session, instance, await recorded(session, instance))
    # The request names no objects: the reconciler deletes all orphans that it finds.
    if not orphans.identities() <= agreed.identities():
        raise CliError("nothing was deleted: the orphans changed meanwhile; run the command again")
    instance = await PRUNE.request(session, instance)
    if session.report.dry:
        return
    if not args.wait:
        flags = flags_of(key_of(instance))
        session.report.say(f"see what is left: kubectl kudo get objects {flags}")
        return
    await PRUNE.until_done(session, instance, limit=args.wait_time)
    owner, sharers = identity_of(instance), LivingSharers(session.client)
    # What was agreed on, not what is an orphan now: a new plan may have applied one of them again.
    after = await read_live(session.client, [live.entry for live in agreed.going], health=False)
    for before, live in zip(agreed.going, after, strict=True):
        session.report.say(await _end(before, live, owner, sharers))


async def _end(before: Live, live: Live, owner: InstanceIdentity, sharers: LivingSharers) -> str:
    """Return what became of an orphan; one that was created again has another uid."""
    named = printable(str(live.entry.place))
    if live.condition is Condition.MISSING:
        return f"{named} deleted"
    if live.condition is Condition.UNKNOWN:
        return f"{named}: you may not read whether it is deleted"
    if _uid(before) and _uid(live) != _uid(before):
        return f"{named} deleted; an object of this name was created since"
    if "deletionTimestamp" in (live.metadata or {}):
        return f"{named} is being deleted"
    why, doubt = await _why(live, owner, sharers)
    return f"{named} stays: {why or doubt or 'see the events of the instance'}"


def _uid(live: Live) -> str:
    """Return the uid of an object; empty if it was not read."""
    return str((live.metadata or {}).get("uid") or "")
