"""`kubectl kudo get objects`: shows what an Instance owns, by its record and as it is now."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain

from kubectl_kudo.reading.inventory.live import read_live
from kubectl_kudo.reading.inventory.recorded import Recorded, identity_of, recorded
from kubectl_kudo.reading.next_commands import flags_of
from kubectl_kudo.reading.owned_objects import OwnedObject, objects_of
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.screens.object_rows import Row, table_of, tree_of
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.formats import TABLE, TREE, WIDE, read_format, show_data
from kubectl_kudo.session.output import JsonObject, show, talk
from kubectl_kudo.session.session import Session
from kudo.objects.inventory.record import Entry, Place


def read_objects_format(args: Args) -> str:
    """Return how to print the objects, after a check of the command line.

    Raises:
        UsageError: arguments or flags do not go with objects.
    """
    if not args.instance or len(args.arguments) > 1:
        raise UsageError("name the instance whose objects to show with --instance=<name>")
    if args.all_namespaces or args.selector:
        raise UsageError("objects are those of one instance: leave out -A and --selector")
    return read_format(args.output) if args.output else TREE


async def get_objects(session: Session, args: Args, output: str) -> None:
    """Print the objects of an Instance.

    Raises:
        CliError: there is no Instance of that name.
    """
    instance = await session.existing_instance(args.instance)
    one = identity_of(instance)
    known = await recorded(session, instance)
    entries = await _entries(session, instance, known)
    rows = [Row(live, one) for live in await read_live(session.client, entries)]
    rows.sort(key=lambda row: row.order)
    now = datetime.now(UTC)
    if output == TREE:
        show(tree_of(f"instance {key_of(instance)}", rows, now))
    elif output in (TABLE, WIDE):
        show(table_of(rows, now, wide=output == WIDE, headers=args.headers))
    else:
        show_data([row.to_data() for row in rows], output, single=False)
    sys.stdout.flush()
    _tell(key_of(instance), known, rows)


async def _entries(session: Session, instance: JsonObject, known: Recorded) -> list[Entry]:
    """Return what is on record; without a record, what labels and owners tell."""
    if known.record is not None:
        return [*known.record]
    flags = flags_of(key_of(instance))
    why = (
        f"because its record cannot be read ({known.problem})"
        if known.problem
        else "because it has no Inventory yet. It gets one at its next run, or by `kubectl kudo "
        f"adopt {flags}`, which only reads and records"
    )
    talk(f"Instance {key_of(instance)}: shown is what labels and owners tell, {why}.")
    found = await objects_of(session, instance)
    if found.unlisted:
        talk(f"You may not list these kinds: {', '.join(found.unlisted)}.")
    return [*chain.from_iterable(map(_entry, found.objects))]


def _entry(obj: OwnedObject) -> Sequence[Entry]:
    """Return an object that a plan applied as an entry; none for what a controller made."""
    if not obj.step:
        return ()
    kind = obj.kind
    namespace = str(obj.metadata["namespace"]) if kind.namespaced else ""
    place = Place(kind.group, kind.kind, namespace, obj.name)
    plan = obj.step.partition(".")[0]
    return (Entry(place, kind.version, kind.plural, plan=plan),)


def _tell(key: str, known: Recorded, rows: Sequence[Row]) -> None:
    flags = flags_of(key)
    if known.record is not None and not known.record.complete:
        talk(
            "The record is not complete: objects of earlier runs may be missing. `kubectl kudo "
            f"adopt {flags}` looks for them."
        )
    if known.ignored:
        text = (
            "entry of its Inventories was"
            if known.ignored == 1
            else "entries of its Inventories were"
        )
        talk(f"{known.ignored} {text} left out: no plan can have made such an object.")
    if any(row.is_orphan for row in rows):
        talk(f"What becomes of orphans: kubectl kudo prune {flags} --dry-run=client")
