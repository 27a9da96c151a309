"""Every state of an Instance: its conditions, and how kstatus and `kubectl wait` read them.

The statuses are those that the reconciler writes. `kstatus` and `is_waited_for` follow the generic
rules of sigs.k8s.io/cli-utils and of kubectl.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from kudo.api import ExecutionStatus, Instance, InstanceStatus, JsonObject, PlanExecution
from kudo.plans.execution import StepOutcome, fail, next_limit, record, runnable, time_out
from kudo.plans.execution.limits import Limit, LimitKind, Limits
from kudo.plans.runs.conditions import Situation
from kudo.plans.runs.status import begun, held_up, leaving, settled, with_conditions, with_entry
from kudo.plans.runs.suspension import with_suspension
from tests.unit.kudo.plans.runs.test_status import NOW, V1, scheduled

S = ExecutionStatus


@dataclass(frozen=True)
class State:
    """An Instance as it is stored, and what is to be read of it.

    Attributes:
        conditions: Type, status and reason of each, in their order.
        kstatus: Current, InProgress, Failed or Terminating.
        last_run: Plan and state of the last run.
        ready: Whether `kubectl wait --for=condition=Ready` ends.
    """

    stored: Callable[[], Instance]
    conditions: tuple[str, ...]
    kstatus: str
    last_run: tuple[str, str] | None = None
    ready: bool = False


def stored(
    status: InstanceStatus, plan: str = "", *, generation: int = 7, deleted: bool = False
) -> Instance:
    """Return an Instance with a status that was written at generation 7."""
    found = scheduled(plan, "A" if plan else "", status)
    changes: JsonObject = {
        "generation": generation,
        **({"deletion_timestamp": NOW} if deleted else {}),
    }
    return found.model_copy(update={"metadata": found.metadata.model_copy(update=changes)})


def ran(
    plan: str, outcome: ExecutionStatus, status: InstanceStatus | None = None
) -> InstanceStatus:
    """Return the status after a run, before the Instance is settled."""
    status = begun(scheduled(plan, plan, status), V1, NOW)
    entry = (status.plan_status or {})[plan]
    while steps := runnable(V1.plans[plan], entry):
        entry = record(entry, {ref: StepOutcome(outcome, "it broke") for ref in steps}, NOW)
        if outcome is S.IN_PROGRESS:
            break
    return with_entry(status, entry)


def at_rest(status: InstanceStatus, *unready: str) -> InstanceStatus:
    return told(status, settled(status, unready))


def told(status: InstanceStatus, situation: Situation) -> InstanceStatus:
    return with_conditions(scheduled("", ""), status, situation, NOW)


DEPLOYED = at_rest(ran("deploy", S.COMPLETE))
FAILED = at_rest(ran("deploy", S.FATAL_ERROR))
READY, UNKNOWN = "Ready=True:ResourcesReady", "Ready=Unknown:PlanInProgress"
RECONCILING = "Reconciling=True:PlanInProgress"
HELD_UP = ("Ready=False:Suspended", "Reconciling=True:Suspended")


def suspended(plan: str = "", status: InstanceStatus | None = None) -> Instance:
    """Return an Instance whose pause the reconciler has not seen yet."""
    found = scheduled(plan, "A" if plan else "", status)
    spec = found.spec.model_copy(update={"suspend": True})
    return found.model_copy(update={"spec": spec})


def paused(plan: str, status: InstanceStatus) -> InstanceStatus:
    """Return the status of a run in progress, once the reconciler has seen its pause."""
    uid = (status.plan_status or {})[plan].uid or ""
    found = suspended(plan, status)
    run = found.scheduled.model_copy(update={"uid": uid})
    spec = found.spec.model_copy(update={"plan_execution": run})
    return begun(found.model_copy(update={"spec": spec}), V1, NOW)


def retried(outcome: ExecutionStatus) -> InstanceStatus:
    """Return the status after a run that continues the failed one, before it is settled."""
    run = PlanExecution(plan_name="deploy", uid="B", retry_of="deploy")
    found = scheduled("deploy", "B", FAILED)
    spec = found.spec.model_copy(update={"plan_execution": run})
    status = begun(found.model_copy(update={"spec": spec}), V1, NOW)
    entry = (status.plan_status or {})["deploy"]
    [step] = runnable(V1.plans["deploy"], entry)
    return with_entry(status, record(entry, {step: StepOutcome(outcome, "it broke")}, NOW))


def timed_out() -> InstanceStatus:
    """Return the status after a run whose plan had a timeout, which has passed."""
    plan = V1.plans["deploy"]
    entry = (ran("deploy", S.IN_PROGRESS).plan_status or {})["deploy"]
    limits = Limits({(LimitKind.PLAN,): Limit(60, "1m", "plans.deploy.timeout")})
    at = datetime.fromisoformat(NOW) + timedelta(seconds=61)
    passing = next_limit(plan, entry, limits, at, suspended_at=None)
    assert passing is not None
    entry, _ = time_out(plan, entry, passing, NOW)
    return at_rest(with_entry(ran("deploy", S.IN_PROGRESS), entry))


def cancelled() -> InstanceStatus:
    status = ran("deploy", S.IN_PROGRESS)
    entry = fail((status.plan_status or {})["deploy"], "cancelled by ann", NOW)
    return at_rest(with_entry(status, entry))


STATES = {
    # kstatus takes a kind without any status for a plain one; the first status comes at once.
    "never run, no status": State(lambda: stored(InstanceStatus(), "deploy"), (), "Current"),
    "deploy runs": State(
        lambda: stored(ran("deploy", S.IN_PROGRESS), "deploy"),
        (UNKNOWN, RECONCILING),
        "InProgress",
        ("deploy", "IN_PROGRESS"),
    ),
    "update runs": State(
        lambda: stored(ran("update", S.IN_PROGRESS, DEPLOYED), "update"),
        (UNKNOWN, RECONCILING),
        "InProgress",
        ("update", "IN_PROGRESS"),
    ),
    # Ready speaks of the generation before, which kubectl does not take.
    "another plan runs": State(
        lambda: stored(ran("custom", S.IN_PROGRESS, at(DEPLOYED, generation=6)), "custom"),
        (READY, RECONCILING),
        "InProgress",
        ("custom", "IN_PROGRESS"),
    ),
    "another plan is the first to run": State(
        lambda: stored(ran("custom", S.IN_PROGRESS), "custom"),
        (UNKNOWN, RECONCILING),
        "InProgress",
        ("custom", "IN_PROGRESS"),
    ),
    "complete, and not yet cleared": State(
        lambda: stored(ran("deploy", S.COMPLETE), "deploy"),
        (UNKNOWN, RECONCILING),
        "InProgress",
        ("deploy", "COMPLETE"),
    ),
    "complete and cleared, and not yet settled": State(
        lambda: stored(ran("deploy", S.COMPLETE), generation=8),
        (UNKNOWN, RECONCILING),
        "InProgress",
        ("deploy", "COMPLETE"),
    ),
    "complete": State(
        lambda: stored(DEPLOYED), (READY,), "Current", ("deploy", "COMPLETE"), ready=True
    ),
    "changed, and the next run not yet begun": State(
        lambda: stored(DEPLOYED, "deploy", generation=8),
        (READY,),
        "InProgress",
        ("deploy", "COMPLETE"),
    ),
    "failed": State(
        lambda: stored(FAILED),
        ("Ready=Unknown:PlanInFatalError", "Stalled=True:PlanInFatalError"),
        "Failed",
        ("deploy", "FATAL_ERROR"),
    ),
    "cancelled": State(
        lambda: stored(cancelled()),
        ("Ready=Unknown:PlanInFatalError", "Stalled=True:PlanInFatalError"),
        "Failed",
        ("deploy", "FATAL_ERROR"),
    ),
    "runs again after a failure": State(
        lambda: stored(ran("update", S.IN_PROGRESS, FAILED), "update"),
        (UNKNOWN, RECONCILING),
        "InProgress",
        ("update", "IN_PROGRESS"),
    ),
    "complete after a failure": State(
        lambda: stored(at_rest(ran("update", S.COMPLETE, FAILED))),
        (READY,),
        "Current",
        ("update", "COMPLETE"),
        ready=True,
    ),
    "refused as it is stored": State(
        lambda: stored(told(DEPLOYED, Situation(("ParameterImmutable", "set it back")))),
        ("Ready=False:ParameterImmutable", "Stalled=True:ParameterImmutable"),
        "Failed",
        ("deploy", "COMPLETE"),
    ),
    "its OperatorVersion is missing": State(
        lambda: stored(told(DEPLOYED, Situation(("InvalidOperatorVersion", "ns/v is missing")))),
        ("Ready=False:InvalidOperatorVersion", "Stalled=True:InvalidOperatorVersion"),
        "Failed",
        ("deploy", "COMPLETE"),
    ),
    "suspended while idle": State(
        lambda: stored(at_rest(with_suspension(suspended("", DEPLOYED), DEPLOYED, NOW))),
        (READY,),
        "Current",
        ("deploy", "COMPLETE"),
        ready=True,
    ),
    "suspended, and a run is held up": State(
        lambda: stored(held_up(suspended("update", DEPLOYED), NOW), "update"),
        HELD_UP,
        "InProgress",
        ("deploy", "COMPLETE"),
    ),
    "suspended before its first run": State(
        lambda: stored(held_up(suspended("deploy"), NOW), "deploy"), HELD_UP, "InProgress"
    ),
    "suspended after a failure, and a run is held up": State(
        lambda: stored(held_up(suspended("deploy", FAILED), NOW), "deploy"),
        HELD_UP,
        "InProgress",
        ("deploy", "FATAL_ERROR"),
    ),
    "deploy is paused": State(
        lambda: stored(paused("deploy", ran("deploy", S.IN_PROGRESS)), "deploy"),
        HELD_UP,
        "InProgress",
        ("deploy", "IN_PROGRESS"),
    ),
    "another plan is paused": State(
        lambda: stored(paused("custom", ran("custom", S.IN_PROGRESS, DEPLOYED)), "custom"),
        HELD_UP,
        "InProgress",
        ("custom", "IN_PROGRESS"),
    ),
    "timed out": State(
        lambda: stored(timed_out()),
        ("Ready=Unknown:PlanInFatalError", "Stalled=True:PlanInFatalError"),
        "Failed",
        ("deploy", "FATAL_ERROR"),
    ),
    "a retry runs": State(
        lambda: stored(retried(S.IN_PROGRESS), "deploy"),
        (UNKNOWN, RECONCILING),
        "InProgress",
        ("deploy", "IN_PROGRESS"),
    ),
    "a retry has failed": State(
        lambda: stored(at_rest(retried(S.FATAL_ERROR))),
        ("Ready=Unknown:PlanInFatalError", "Stalled=True:PlanInFatalError"),
        "Failed",
        ("deploy", "FATAL_ERROR"),
    ),
    "its resources are not ready": State(
        lambda: stored(at_rest(DEPLOYED, "deployment ns/web: 0 of 1")),
        ("Ready=False:ResourceNotReady",),
        "InProgress",
        ("deploy", "COMPLETE"),
    ),
    "its resources may not be watched": State(
        lambda: stored(told(DEPLOYED, Situation(("ResourcesUnknown", "not allowed to watch")))),
        ("Ready=Unknown:ResourcesUnknown",),
        "InProgress",
        ("deploy", "COMPLETE"),
    ),
    "cleanup runs": State(
        lambda: stored(ran("cleanup", S.IN_PROGRESS, DEPLOYED), "cleanup", deleted=True),
        (UNKNOWN, RECONCILING),
        "Terminating",
        ("cleanup", "IN_PROGRESS"),
    ),
    "cleanup has ended, and the finalizer of somebody else is there": State(
        lambda: stored(left(ran("cleanup", S.COMPLETE, DEPLOYED)), deleted=True),
        ("Ready=False:InstanceDeleting",),
        "Terminating",
        ("cleanup", "COMPLETE"),
    ),
    "cleanup has failed, and the finalizer of somebody else is there": State(
        lambda: stored(left(ran("cleanup", S.FATAL_ERROR, DEPLOYED)), deleted=True),
        ("Ready=Unknown:PlanInFatalError", "Stalled=True:PlanInFatalError"),
        "Terminating",
        ("cleanup", "FATAL_ERROR"),
    ),
    "deleted without a cleanup plan, and the finalizer of somebody else is there": State(
        lambda: stored(left(DEPLOYED), deleted=True),
        ("Ready=False:InstanceDeleting",),
        "Terminating",
        ("deploy", "COMPLETE"),
    ),
}


def at(status: InstanceStatus, *, generation: int) -> InstanceStatus:
    """Return the status as it was written at another generation."""
    conditions = tuple(
        condition.model_copy(update={"observed_generation": generation})
        for condition in status.conditions or ()
    )
    changed = {"conditions": conditions, "observed_generation": generation}
    return status.model_copy(update=changed)


def left(status: InstanceStatus) -> InstanceStatus:
    return told(status, leaving(status))


def kstatus(instance: JsonObject) -> str:
    """Return what kstatus computes for a kind without rules of its own."""
    metadata, status = instance["metadata"], instance.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    if status.get("observedGeneration", metadata["generation"]) != metadata["generation"]:
        return "InProgress"
    conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    if conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    return "Current" if conditions.get("Ready", "True") == "True" else "InProgress"


def is_waited_for(instance: JsonObject, kind: str) -> bool:
    """Return whether `kubectl wait --for=condition=KIND` ends."""
    generation = instance["metadata"]["generation"]
    return any(
        one["type"] == kind and one["status"] == "True" and one["observedGeneration"] >= generation
        for one in (instance.get("status") or {}).get("conditions") or ()
    )


def test_each_state_has_its_conditions_and_tools_read_them_right(subtests: pytest.Subtests) -> None:
    for name in STATES:
        with subtests.test(name=name):
            state = STATES[name]
            instance = state.stored()
            wire = instance.to_wire()
            found = instance.status.conditions or ()
            assert tuple(f"{c.type}={c.status}:{c.reason}" for c in found) == state.conditions
            assert kstatus(wire) == state.kstatus
            assert is_waited_for(wire, "Ready") is state.ready
            last = instance.status.last_run
            assert (last and (last.plan, last.status)) == state.last_run
            assert is_waited_for(wire, "Stalled") is any(
                "Stalled" in one for one in state.conditions
            )


def test_ready_is_first_and_the_others_are_only_there_while_true(subtests: pytest.Subtests) -> None:
    for name in STATES:
        with subtests.test(name=name):
            conditions = STATES[name].stored().status.conditions or ()
            assert [c.type for c in conditions[:1]] in ([], ["Ready"])
            assert all(c.status == "True" for c in conditions[1:])
            assert len(conditions) <= 2
