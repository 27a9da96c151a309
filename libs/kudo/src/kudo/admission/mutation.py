"""What mutation writes: the JSON Patch (RFC 6902), the `spec.planExecution` in it, and warnings.

The planExecution is a new run, the stored one, or a cancelled one. Who asked for a run and who
cancelled it is what the request says of its user, never what was submitted.
"""

from collections.abc import Iterator, Mapping, Sequence

from kudo.admission.change import Change
from kudo.admission.source_rules import plain_secrets, plain_secrets_warning
from kudo.api import ExecutionStatus, JsonObject, ParameterSource, PlanExecution, new_run
from kudo.api.names import FINALIZER_CLEANUP
from kudo.api.problems import MOST_PROBLEMS, listed, shown_name
from kudo.plans.runs.plan_choice import IDLE
from kudo.plans.runs.upgrades import goes_up

# Fields of a run that mutation writes or that only a new run may have.
_MARKS = frozenset({"cancelledBy", "requestedBy", "retryOf", "from", "parameters"})


class InstancePatch:
    """Collects JSON Patch operations against the submitted object."""

    def __init__(self, submitted: JsonObject) -> None:
        self._metadata: JsonObject = submitted.get("metadata") or {}
        self._operations: list[JsonObject] = []
        spec = submitted.get("spec")
        self._spec: JsonObject = spec or {}
        if spec is None:
            # A JSON Patch cannot add below a member that is not there.
            self._set("/spec", {})

    def plan_execution(self, value: JsonObject) -> None:
        if (self._spec.get("planExecution") or {}) != value:
            self._set("/spec/planExecution", value)

    def parameters(self, value: Mapping[str, str], submitted: Mapping[str, str]) -> None:
        if dict(value) != dict(submitted):
            self._set("/spec/parameters", dict(value))

    def sources(
        self, value: Sequence[ParameterSource], submitted: Sequence[ParameterSource]
    ) -> None:
        if len(value) != len(submitted):
            self._set("/spec/parametersFrom", [source.to_wire() for source in value])

    def finalizer(self, *, needed: bool) -> None:
        present = list(self._metadata.get("finalizers") or [])
        if needed and FINALIZER_CLEANUP not in present:
            self._set("/metadata/finalizers", [*present, FINALIZER_CLEANUP])
        elif not needed and FINALIZER_CLEANUP in present:
            rest = [name for name in present if name != FINALIZER_CLEANUP]
            self._set("/metadata/finalizers", rest)

    def operations(self) -> tuple[JsonObject, ...]:
        return tuple(self._operations)

    def _set(self, path: str, value: object) -> None:
        # "add" replaces a member that exists, so that one operation serves both cases.
        self._operations.append({"op": "add", "path": path, "value": value})


def scheduled(change: Change, plan: str, uid: str) -> JsonObject:
    """Return a new run, with who asked for it, what it is a retry of, and its parameters."""
    retry = None if change.deleting else change.retry
    return _requested(new_run(plan, uid, retry, change.run_parameters), change.username)


def _requested(run: JsonObject, username: str) -> JsonObject:
    return {**run, "requestedBy": username} if username else run


def settled(change: Change) -> JsonObject:
    """Return the planExecution of a request that runs nothing: as stored, or empty."""
    if change.active is not None or change.new.scheduled.plan_name:
        return change.old.scheduled.to_wire()
    return {}


def cancelled(change: Change, username: str) -> JsonObject:
    """Return the stored run, marked as cancelled by the first user who asked for it."""
    stored = change.old.scheduled
    if stored.status == ExecutionStatus.FATAL_ERROR:
        # It is cancelled already: who did it stays.
        return stored.to_wire()
    by = {"cancelledBy": username} if username else {}
    kept = {key: value for key, value in stored.to_wire().items() if key != "cancelledBy"}
    return {**kept, "status": str(ExecutionStatus.FATAL_ERROR), **by}


def by_hand(scheduled: PlanExecution, username: str) -> JsonObject:
    """Return a run that was named by hand, as no retry, and not cancelled.

    Nobody can have asked for its end yet.
    """
    run = _unmarked(scheduled)
    if scheduled.parameters:
        run["parameters"] = dict(scheduled.parameters)
    if scheduled.status == ExecutionStatus.FATAL_ERROR or scheduled.cancelled_by:
        run.pop("status", None)
    return _requested(run, username)


def has_other_marks(change: Change) -> bool:
    """Return whether a submitted run is marked otherwise than it would be stored."""
    return _marks(change.new.scheduled) != _marks(_of_the_run(change))


def marked_as_stored(change: Change) -> JsonObject:
    """Return what was submitted, marked as the run is that is stored, if it is that one."""
    return _unmarked(change.new.scheduled) | _marks(_of_the_run(change))


def _of_the_run(change: Change) -> PlanExecution:
    return change.old.scheduled if change.keeps_the_run else IDLE


def _unmarked(scheduled: PlanExecution) -> JsonObject:
    return {name: value for name, value in scheduled.to_wire().items() if name not in _MARKS}


def _marks(scheduled: PlanExecution) -> JsonObject:
    return {name: value for name, value in scheduled.to_wire().items() if name in _MARKS}


def warnings_of(change: Change) -> tuple[str, ...]:
    """Return what the user of an admitted change should know."""
    plain = plain_secrets(change)
    return (
        *_discarded(change),
        *_of_the_change(change),
        *((plain_secrets_warning(plain),) if plain else ()),
    )


def _discarded(change: Change) -> Iterator[str]:
    """Yield that parameters of a run were given to one that has its own."""
    run, stored = change.new.scheduled, change.active
    if stored is None or run.plan_name != stored.plan_name or not run.parameters:
        return
    if dict(run.parameters) != dict(stored.parameters or {}):
        yield (
            f"plan '{shown_name(stored.plan_name or '')}' is running and keeps the parameters that "
            "it was given; what this request gives is discarded; trigger the plan again once it "
            "has ended"
        )


def _of_the_change(change: Change) -> tuple[str, ...]:
    if change.creates:
        undeclared = sorted(change.changed.keys() - change.declared.keys())
        more = len(undeclared) - MOST_PROBLEMS
        texts = tuple(
            f'parameter "{shown_name(name)}" is not declared by {change.version.metadata.name} and '
            "has no effect"
            for name in undeclared[:MOST_PROBLEMS]
        )
        return (*texts, f"and {more} more undeclared parameters") if more > 0 else texts
    if change.upgrade:
        before, after = change.old_version, change.version
        if before is None or goes_up(before, after) is not False:
            return ()
        # A manifest may go back to an older version, but nobody should unknowingly.
        old, new = shown_name(before.metadata.name), shown_name(after.metadata.name)
        return (f"{new} is older than {old}, which the Instance had: this is a downgrade",)
    first, second = change.by_parameters, change.after_parameters
    if second.plan is None:
        return ()
    text = f"plan '{first.plan}' runs, triggered by {listed(first.explicit)}; when it is COMPLETE, "
    text = f"{text}plan '{second.plan}' runs and brings the change of {listed(second.fallback)} "
    return (f"{text}into force, which has no trigger",)
