"""The table of a run: what each plan cost, and what became of the rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

GAP_GOAL = 10.0
"""Seconds without an acknowledged row that scaling and rolling changes should stay below."""
_HEAD = ("plan", "seconds", "longest gap", "sizes", "kills", "unasked restarts")


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """Figures of one run of a plan.

    Attributes:
        name: Of the plan, and what it did.
        seconds: Its duration.
        gap: Longest time without an acknowledged row in seconds, None if nobody wrote.
        sizes: Of the cluster, in the order in which they were seen.
        kills: What was killed, such as `reconciler`.
        unasked: Restarts of pods that nobody asked for.
    """

    name: str
    seconds: float
    gap: float | None
    sizes: Sequence[int]
    kills: Sequence[str]
    unasked: int

    @property
    def cells(self) -> tuple[str, ...]:
        gap = "-" if self.gap is None else f"{self.gap:.1f} s"
        sizes = " ".join(map(str, self.sizes)) or "-"
        kills = ", ".join(self.kills) or "-"
        return (self.name, f"{self.seconds:.0f}", gap, sizes, kills, str(self.unasked))


@dataclass
class Report:
    """All that a run has counted.

    Attributes:
        tried: Rows that were sent.
        acknowledged: Rows that were acknowledged.
        lost: Rows that were acknowledged and are missing on a node.
        unsure: Rows that are there although the client got an error.
        checksums: Whether all nodes have equal checksums, None if they were not compared.
        plans: In their order.
        notes: Further lines, such as refusals.
        recording: What `plan status` showed during a plan.
    """

    tried: int = 0
    acknowledged: int = 0
    lost: int = 0
    unsure: int = 0
    checksums: bool | None = None
    plans: list[PlanFigures] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    recording: list[str] = field(default_factory=list)

    @property
    def unasked(self) -> int:
        """Restarts that nobody asked for, of all plans."""
        return sum(one.unasked for one in self.plans)

    def problems(self) -> list[str]:
        """Return what a run must not have; empty if it passed."""
        found = []
        if not self.acknowledged:
            found.append("no row was acknowledged")
        if self.lost:
            found.append(f"{self.lost} acknowledged rows are lost")
        if self.checksums is None:
            found.append("the rows of the nodes were not compared")
        elif not self.checksums:
            found.append("the nodes have different rows")
        if self.unasked:
            found.append(f"{self.unasked} restarts that nobody asked for")
        return found

    def lines(self) -> list[str]:
        """Return the report as text."""
        same = {None: "not compared", True: "equal", False: "DIFFERENT"}[self.checksums]
        rows = (
            f"rows: {self.tried} tried, {self.acknowledged} acknowledged, {self.lost} lost, "
            f"{self.unsure} committed without an answer; checksums of the nodes: {same}"
        )
        return [*aligned([_HEAD, *(one.cells for one in self.plans)]), rows, *self.notes]


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows of text in columns."""
    found = list(rows)
    widths = [max(map(len, column)) for column in zip(*found, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in found]
