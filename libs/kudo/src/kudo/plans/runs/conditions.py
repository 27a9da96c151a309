"""The conditions of an Instance: Ready, Reconciling and Stalled, as kstatus tools read them.

Ready is always there and comes first. Reconciling and Stalled are there only while they are True:
test suites written for KUDO 0.19 assert the list with Ready alone, and a list assert compares the
length. The transition time of each moves with its status alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kudo import api

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"

RESOURCES_READY = "ResourcesReady"
RESOURCE_NOT_READY = "ResourceNotReady"
RESOURCES_UNKNOWN = "ResourcesUnknown"
PLAN_IN_PROGRESS = "PlanInProgress"
PLAN_IN_FATAL_ERROR = "PlanInFatalError"
INSTANCE_DELETING = "InstanceDeleting"
SUSPENDED = "Suspended"
INTERNAL_ERROR = "InternalError"
SOURCE_MISSING = "ParameterSourceMissing"
SOURCE_FORBIDDEN = "ParameterSourceForbidden"
SOURCE_UNUSABLE = "ParameterSourceUnusable"
SOURCE_KEY = "DigestKeyMissing"
NO_ACCOUNT = "ServiceAccountNotFound"
SOURCE_REASONS = frozenset(
    {SOURCE_MISSING, SOURCE_FORBIDDEN, SOURCE_UNUSABLE, SOURCE_KEY, NO_ACCOUNT}
)
"""Why a run does not begin: what its parameters take their values from cannot be used."""
UNKNOWN_FIELDS = "UnknownFields"
HELD_REASONS = SOURCE_REASONS | {UNKNOWN_FIELDS}
"""Why a run does not begin, or does not go on, until something else has changed."""

_READY_BY_REASON = {
    RESOURCES_READY: "True",
    RESOURCES_UNKNOWN: "Unknown",
    PLAN_IN_PROGRESS: "Unknown",
    PLAN_IN_FATAL_ERROR: "Unknown",
}
"""Every other reason makes Ready False."""
_NOT_STALLED = frozenset(
    {
        RESOURCES_READY,
        RESOURCE_NOT_READY,
        RESOURCES_UNKNOWN,
        PLAN_IN_PROGRESS,
        INSTANCE_DELETING,
        SUSPENDED,
    }
)
_OF_RUNS = frozenset({PLAN_IN_PROGRESS, SUSPENDED, INTERNAL_ERROR}) | HELD_REASONS
_OURS = frozenset({READY, RECONCILING, STALLED})
_MAX_MESSAGE = 32768
"""What the schema of conditions in Kubernetes allows; a longer one would fail the whole write."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts that the conditions follow from.

    Attributes:
        ready: Reason and message of Ready. None while a plan runs that does not decide on it:
            Ready stays as it is, or is Unknown if it has never been decided.
        running: Plan that runs, or is to run; None if there is none.
        suspended: Whether a pause holds up that plan.
    """

    ready: tuple[str, str] | None
    running: str | None = None
    suspended: bool = False

    @property
    def stalled(self) -> tuple[str, str] | None:
        """Why nothing continues until somebody changes something, or None."""
        if self.running is not None or self.ready is None or self.ready[0] in _NOT_STALLED:
            return None
        return self.ready


def update(
    conditions: tuple["api.Condition", ...], situation: Situation, *, generation: int, now: str
) -> tuple["api.Condition", ...]:
    """Return the conditions for a situation: ours first, then those of others as they are."""
    desired: dict[str, api.Condition] = {}
    for kind, status, reason, message in _desired(conditions, situation):
        old = find(conditions, kind)
        kept = old is not None and old.status == status
        desired[kind] = api.Condition(
            type=kind,
            status=status,
            reason=reason,
            message=message[:_MAX_MESSAGE],
            last_transition_time=old.last_transition_time if old is not None and kept else now,
            observed_generation=generation,
        )
    ready = desired.get(READY) or find(conditions, READY)
    others = (condition for condition in conditions if condition.type not in _OURS)
    ours = (ready, desired.get(RECONCILING), desired.get(STALLED))
    return (*(condition for condition in ours if condition is not None), *others)


def _desired(
    conditions: tuple["api.Condition", ...], situation: Situation
) -> Iterator[tuple[str, str, str, str]]:
    ready = situation.ready
    if situation.running is not None and situation.suspended:
        text = f"plan {situation.running} is held up: the Instance is suspended (spec.suspend)"
        ready = SUSPENDED, text
        yield RECONCILING, "True", *ready
    elif situation.running is not None:
        text = f"plan {situation.running} is running"
        if ready is not None and ready[0] in HELD_REASONS:
            text = f"plan {situation.running} waits: {ready[0]}"
        yield RECONCILING, "True", PLAN_IN_PROGRESS, text
        # A plan such as a backup leaves Ready as it is, unless Ready is missing or speaks of a plan
        # that was replaced, held up or kept failing.
        old = find(conditions, READY)
        says_nothing = old is None or old.reason in _OF_RUNS
        if ready is None and says_nothing:
            ready = PLAN_IN_PROGRESS, text
    if ready is not None:
        reason, message = ready
        yield READY, _READY_BY_REASON.get(reason, "False"), reason, message
    if situation.stalled is not None:
        yield STALLED, "True", *situation.stalled


def find(conditions: tuple["api.Condition", ...], kind: str) -> "api.Condition | None":
    return next((condition for condition in conditions if condition.type == kind), None)
