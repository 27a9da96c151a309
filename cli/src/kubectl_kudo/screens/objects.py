"""`kubectl kudo get objects`: shows what an Instance owns, by its record and as it is now."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, groupby

from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.inventory import (
    Condition,
    Live,
    Recorded,
    identity_of,
    read_live,
    recorded,
    shared_with,
    why_orphan_stays,
)
from kubectl_kudo.reading.owned import OwnedObject, objects_of
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import Cell, Column, Mark, Node, Table, Tree
from kubectl_kudo.session.cells import NONE, age, cell, printable
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import (
    TABLE,
    TREE,
    WIDE,
    JsonObject,
    read_format,
    reference,
    show,
    show_data,
    talk,
)
from kubectl_kudo.session.session import Session
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place

_LONGEST_MESSAGE = 200
_UNKNOWN_TASK = "task not known"
_MARKS = {
    Condition.HEALTHY: Mark.GOOD,
    Condition.WAITING: Mark.BUSY,
    Condition.FAILED: Mark.BAD,
    Condition.MISSING: Mark.BAD,
    Condition.UNKNOWN: Mark.WARNING,
}


@dataclass(frozen=True)
class Row:
    """An object of an Instance, and what is shown of it.

    Attributes:
        live: The object on record, as it is.
        one: The Instance.
    """

    live: Live
    one: InstanceIdentity

    @property
    def entry(self) -> Entry:
        return self.live.entry

    @property
    def order(self) -> tuple[str, str, str, str]:
        place = self.entry.place
        return self.entry.plan, self.entry.task, place.kind, place.name

    @property
    def is_orphan(self) -> bool:
        return bool(self.entry.orphaned_by)

    @cached_property
    def stays(self) -> str:
        """Return why pruning leaves it; empty if it is no orphan, or is deleted."""
        return why_orphan_stays(self.live, self.one) if self.is_orphan else ""

    @property
    def mark(self) -> Mark | None:
        return _MARKS.get(self.live.condition)

    def marks(self) -> Iterator[str]:
        """Yield what is special about it."""
        if self.entry.cluster_scoped:
            others = shared_with(self.live, self.one)
            yield f"shared with {others}" if others else "cluster-scoped"
        if self.entry.retained:
            yield "retained"
        if self.entry.adopted:
            yield "adopted"
        if self.live.metadata and "deletionTimestamp" in self.live.metadata:
            yield "being deleted"
        if self.is_orphan:
            yield f"orphan that stays: {self.stays}" if self.stays else "orphan"

    def reference(self) -> str:
        """Return its kind and name as kubectl has them."""
        place = self.entry.place
        named = {"apiVersion": self.entry.api_version, "kind": place.kind}
        return reference({**named, "metadata": {"name": place.name}})

    def age(self, now: datetime) -> str:
        return age(self.live.metadata, now) if self.live.metadata else NONE

    def text(self, now: datetime) -> str:
        """Return its line of the tree."""
        old = self.age(now) if self.live.metadata else ""
        facts = ", ".join(filter(None, (self.live.condition.value, old, *self.marks())))
        place = self.entry.place
        # The line has the name already.
        why = printable(self.live.message.removeprefix(f"{place} "), _LONGEST_MESSAGE)
        return f"{place.kind}/{printable(place.name)} ({printable(facts)})" + (
            f": {why}" if why else ""
        )

    def to_data(self) -> JsonObject:
        entry, live, place = self.entry, self.live, self.entry.place
        metadata = live.metadata or {}
        known = {
            "name": place.name,
            "namespace": place.namespace,
            "uid": str(metadata.get("uid") or ""),
            "creationTimestamp": str(metadata.get("creationTimestamp") or ""),
        }
        texts = {
            "plan": entry.plan,
            "task": entry.task,
            "condition": live.condition.value,
            "message": live.message,
            "orphanedBy": entry.orphaned_by,
            "staysBecause": self.stays,
            "sharedWith": shared_with(live, self.one),
        }
        flags = {
            "clusterScoped": entry.cluster_scoped,
            "retained": entry.retained,
            "adopted": entry.adopted,
            "orphan": self.is_orphan,
        }
        return {
            "apiVersion": entry.api_version,
            "kind": place.kind,
            "metadata": {key: value for key, value in known.items() if value},
            **{key: value for key, value in texts.items() if value},
            **flags,
        }


def tree_of(title: str, rows: Sequence[Row], now: datetime) -> Tree:
    """Return rows, which are sorted, below their tasks and plans."""
    plans = [
        Node(f"plan {plan}" if plan else "plan not known", [*_tasks(group, now)])
        for plan, group in groupby(rows, lambda row: row.entry.plan)
    ]
    return Tree(plans, f"{title}: {_counted(rows)}")


def _tasks(rows: Iterable[Row], now: datetime) -> Iterator[Node]:
    for task, group in groupby(rows, lambda row: row.entry.task):
        text = f"task {task}" if task else _UNKNOWN_TASK
        yield Node(printable(text), [Node(row.text(now), mark=row.mark) for row in group])


def _counted(rows: Sequence[Row]) -> str:
    orphans = sum(row.is_orphan for row in rows)
    rest = f", {orphans} of them {'an orphan' if orphans == 1 else 'orphans'}" if orphans else ""
    return f"{len(rows)} object{'' if len(rows) == 1 else 's'}{rest}"


def table_of(rows: Sequence[Row], now: datetime, *, wide: bool, headers: bool) -> Table:
    """Return a table with a line for each row."""
    state = [Column(heading, kept=True) for heading in ("HEALTH", "AGE")]
    columns = ("NAME", "PLAN", "TASK", *state, "MARKS", *(("UID", "MESSAGE") if wide else ()))
    lines = [[*_cells(row, now), *(_wide(row) if wide else ())] for row in rows]
    return Table(columns, lines, headers=headers)


def _cells(row: Row, now: datetime) -> tuple[Cell | str, ...]:
    return (
        printable(row.reference()),
        cell(row.entry.plan),
        cell(row.entry.task),
        Cell(row.live.condition.value, mark=row.mark),
        row.age(now),
        cell(", ".join(row.marks())),
    )


def _wide(row: Row) -> tuple[str, ...]:
    uid = (row.live.metadata or {}).get("uid")
    return cell(uid), cell(printable(row.live.message, _LONGEST_MESSAGE))


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
