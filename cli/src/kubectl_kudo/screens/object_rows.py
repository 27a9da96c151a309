"""The tree, the table and the data of the objects of an Instance."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby

from kubectl_kudo.reading.inventory.keeping import shared_with, why_orphan_stays
from kubectl_kudo.reading.inventory.live import Condition, Live
from kubectl_kudo.session.blocks import Cell, Column, Mark, Node, Table, Tree
from kubectl_kudo.session.cells import NONE, age, cell, printable
from kubectl_kudo.session.formats import reference
from kubectl_kudo.session.output import JsonObject
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry

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
