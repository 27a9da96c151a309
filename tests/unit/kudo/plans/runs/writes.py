"""One write of an Instance, and what was seen of its runs before it; no tests of its own."""

from dataclasses import dataclass, field
from datetime import datetime

from kudo.api import ExecutionStatus, Instance, OperatorVersion, PlanStatus
from kudo.plans.execution import status_of

S = ExecutionStatus
Step = tuple[str, int, str, int]
"""A phase and a step by name and occurrence."""


@dataclass
class Record:
    """What has been seen of the runs of an Instance, to hold later states against it.

    Attributes:
        admitted: uids of the runs that admission let pass.
        replaced: Those of them that a later request of a user took the place of.
        begun: uids that have had a status.
        statuses: The last status by uid.
        steps: The finished steps by uid.
        retried: uids of the runs that a retry of has begun.
        recorded: uids of the runs that the history has had a record of.
    """

    admitted: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    statuses: dict[str, ExecutionStatus] = field(default_factory=dict)
    steps: dict[str, frozenset[Step]] = field(default_factory=dict)
    retried: set[str] = field(default_factory=set)
    recorded: set[str] = field(default_factory=set)

    @property
    def lost(self) -> set[str]:
        """Runs that were admitted, but neither begun nor replaced."""
        return self.admitted - self.begun - self.replaced

    def note(self, instance: Instance) -> None:
        """Take up a state."""
        for entry in instance.plan_status.values():
            if entry.uid:
                self.begun.add(entry.uid)
                self.statuses[entry.uid] = status_of(entry)
                self.steps[entry.uid] = steps_of(entry)[1]
            self.retried |= {entry.retry_of} if entry.retry_of else set()
        self.recorded |= {record.uid for record in instance.status.history or ()}


@dataclass(frozen=True)
class Write:
    """One write of an Instance that exists.

    Attributes:
        before: What was stored.
        after: What is stored now.
        by: "reconciler"; "user" for a change that was admitted; "nobody" for what came past
            admission.
        record: What was seen before.
        versions: The OperatorVersions of `before` and `after`; None where there is none.
        refusing: Whether the reconciler puts a refused run back.
        lawful: Whether every change came through admission.
        now: When it arrived; None where no promise asks for it.
        held_up_since: Since when the reconciler has known that the Instance is suspended, at the
            latest; None if it is not, or need not be known.
        known_versions: Every state that the OperatorVersion of the last run has had.
    """

    before: Instance
    after: Instance
    by: str
    record: Record
    versions: tuple[OperatorVersion | None, OperatorVersion | None]
    refusing: bool = False
    lawful: bool = True
    now: datetime | None = None
    held_up_since: datetime | None = None
    known_versions: tuple[OperatorVersion, ...] = ()

    @property
    def of_status(self) -> bool:
        """Whether the reconciler has written a status, and knew the version."""
        written = self.before.status != self.after.status
        return self.by == "reconciler" and written and self.versions[1] is not None


def steps_of(entry: PlanStatus) -> tuple[frozenset[Step], frozenset[Step]]:
    """Return the steps by name and occurrence, and those of them that are COMPLETE."""
    known: dict[Step, bool] = {}
    phases: dict[str, int] = {}
    for phase in entry.phases or ():
        phases[phase.name] = phases.get(phase.name, 0) + 1
        steps: dict[str, int] = {}
        for step in phase.steps or ():
            steps[step.name] = steps.get(step.name, 0) + 1
            key = (phase.name, phases[phase.name], step.name, steps[step.name])
            known[key] = step.status == S.COMPLETE
    return frozenset(known), frozenset(key for key, complete in known.items() if complete)
