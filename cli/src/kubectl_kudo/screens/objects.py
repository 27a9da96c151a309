"""`kubectl kudo get objects`: shows what an Instance owns, by its record and as it is now."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby

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
from kubectl_kudo.reading.owned import objects_of
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import (
    NONE,
    Cell,
    Column,
    Mark,
    Node,
    Table,
    Tree,
    age,
    cell,
    printable,
)
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
_MARKS = {
    Condition.HEALTHY: Mark.GOOD,
    Condition.WAITING: Mark.BUSY,
    Condition.FAILED: Mark.BAD,
    Condition.MISSING: Mark.BAD,
    Condition.UNKNOWN: Mark.WARNING,
}


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
    """Print the objects of an Instance, then what is to be said of its record.

    Raises:
        CliError: there is no Instance of that name.
    """
    instance = await session.existing_instance(args.instance)
    inventory = await recorded(session, instance)
    record = inventory.record
    # Labels are a guess: anybody can set them, and an object may lack them.
    entries = [*record] if record is not None else await _labelled(session, instance, inventory)
    owner, now = identity_of(instance), datetime.now(UTC)
    rows = [Row(live, owner) for live in await read_live(session.client, entries)]
    # By plan and task, as they are applied; the record itself has no such order.
    rows.sort(key=lambda row: row.order)
    key = key_of(instance)
    if output == TREE:
        show(tree_of(f"instance {key}", rows, now))
    elif output in (TABLE, WIDE):
        show(table_of(rows, now, wide=output == WIDE, headers=args.headers))
    else:
        show_data([row.to_data() for row in rows], output, single=False)
    # Where stdout and stderr are one file, what follows must not stand before it.
    sys.stdout.flush()
    # What ran before there was a record is only found by a search, which costs many requests.
    if record is not None and not record.complete:
        talk(
            "The record is not complete: objects of earlier runs may be missing. `kubectl kudo "
            f"adopt {flags_of(key)}` looks for them."
        )
    if inventory.ignored:
        count, of = inventory.ignored, "of its Inventories"
        text = f"1 entry {of} was" if count == 1 else f"{count} entries {of} were"
        talk(f"{text} left out: no plan can have made such an object.")
    if any(row.is_orphan for row in rows):
        talk(f"What becomes of orphans: kubectl kudo prune {flags_of(key)} --dry-run=client")


async def _labelled(session: Session, instance: JsonObject, inventory: Recorded) -> list[Entry]:
    """Return, as entries, the objects that are found by labels and owners; say why."""
    key = key_of(instance)
    why = (
        f"because its record cannot be read ({inventory.problem})"
        if inventory.problem
        else "because it has no Inventory yet. It gets one at its next run, or by `kubectl kudo "
        f"adopt {flags_of(key)}`, which only reads and records"
    )
    talk(f"Instance {key}: shown is what labels and owners tell, {why}.")
    labelled = await objects_of(session, instance)
    if labelled.unlisted:
        talk(f"You may not list these kinds: {', '.join(labelled.unlisted)}.")
    entries = []
    for obj in labelled.objects:
        if obj.step:  # else a controller made it, and not a plan
            kind, plan = obj.kind, obj.step.partition(".")[0]
            namespace = str(obj.metadata["namespace"]) if kind.namespaced else ""
            place = Place(kind.group, kind.kind, namespace, obj.name)
            entries.append(Entry(place, kind.version, kind.plural, plan=plan))
    return entries


@dataclass(frozen=True)
class Row:
    """An object of an Instance, and what is shown of it.

    Attributes:
        live: The object on record, as it is.
        owner: The Instance.
    """

    live: Live
    owner: InstanceIdentity

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
        return why_orphan_stays(self.live, self.owner) if self.is_orphan else ""

    @property
    def mark(self) -> Mark | None:
        return _MARKS.get(self.live.condition)

    def marks(self) -> Iterator[str]:
        """Yield what is special about it."""
        if self.entry.cluster_scoped:
            others = shared_with(self.live, self.owner)
            yield f"shared with {others}" if others else "cluster-scoped"
        if self.entry.retained:
            yield "retained"
        if self.entry.adopted:
            yield "adopted"
        if self.live.metadata and "deletionTimestamp" in self.live.metadata:
            yield "being deleted"
        if self.is_orphan:
            yield f"orphan that stays: {self.stays}" if self.stays else "orphan"

    def age(self, now: datetime) -> str:
        return age(self.live.metadata, now) if self.live.metadata else NONE

    def node(self, now: datetime) -> Node:
        """Return its line of the tree."""
        place, live = self.entry.place, self.live
        old = self.age(now) if live.metadata else ""
        facts = ", ".join(filter(None, (live.condition.value, old, *self.marks())))
        # The line has the name already.
        why = printable(live.message.removeprefix(f"{place} "), _LONGEST_MESSAGE)
        text = f"{place.kind}/{printable(place.name)} ({printable(facts)})"
        return Node(f"{text}: {why}" if why else text, mark=self.mark)

    def cells(self, now: datetime, *, wide: bool) -> Iterator[Cell | str]:
        """Yield its cells of the table."""
        obj = {"apiVersion": self.entry.api_version, "kind": self.entry.place.kind}
        yield printable(reference({**obj, "metadata": {"name": self.entry.place.name}}))
        yield from (cell(self.entry.plan), cell(self.entry.task))
        yield Cell(self.live.condition.value, mark=self.mark)
        yield from (self.age(now), cell(", ".join(self.marks())))
        if wide:
            yield cell((self.live.metadata or {}).get("uid"))
            yield cell(printable(self.live.message, _LONGEST_MESSAGE))

    def to_data(self) -> JsonObject:
        entry, live, place = self.entry, self.live, self.entry.place
        metadata = live.metadata or {}
        identity = {
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
            "sharedWith": shared_with(live, self.owner),
        }
        return {
            "apiVersion": entry.api_version,
            "kind": place.kind,
            "metadata": {key: value for key, value in identity.items() if value},
            **{key: value for key, value in texts.items() if value},
            "clusterScoped": entry.cluster_scoped,
            "retained": entry.retained,
            "adopted": entry.adopted,
            "orphan": self.is_orphan,
        }


def tree_of(title: str, rows: Sequence[Row], now: datetime) -> Tree:
    """Return rows, which are sorted, below their tasks and plans."""
    plans = []
    for plan, rows_of_plan in groupby(rows, lambda row: row.entry.plan):
        tasks = [
            Node(
                printable(f"task {task}" if task else "task not known"),
                [row.node(now) for row in rows_of_task],
            )
            for task, rows_of_task in groupby(rows_of_plan, lambda row: row.entry.task)
        ]
        plans.append(Node(f"plan {plan}" if plan else "plan not known", tasks))
    orphans = sum(row.is_orphan for row in rows)
    rest = f", {orphans} of them {'an orphan' if orphans == 1 else 'orphans'}" if orphans else ""
    return Tree(plans, f"{title}: {len(rows)} object{'' if len(rows) == 1 else 's'}{rest}")


def table_of(rows: Sequence[Row], now: datetime, *, wide: bool, headers: bool) -> Table:
    """Return a table with a line for each row."""
    state = [Column(heading, kept=True) for heading in ("HEALTH", "AGE")]
    columns = ("NAME", "PLAN", "TASK", *state, "MARKS", *(("UID", "MESSAGE") if wide else ()))
    return Table(columns, [[*row.cells(now, wide=wide)] for row in rows], headers=headers)
