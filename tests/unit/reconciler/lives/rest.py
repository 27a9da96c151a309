"""What holds once everything has come to rest; no tests of its own."""

from datetime import timedelta
from typing import Final

from kudo.admission.revalidation import revalidate_idle
from kudo.api import ExecutionStatus, Instance, OperatorVersion
from kudo.api.fingerprints import fingerprints
from kudo.api.names import LABEL_INSTANCE
from kudo.objects.health import readiness
from kudo.plans.runs.conditions import Situation
from kudo.plans.runs.status import running, settled, with_conditions
from kudo_reconciler.common.keys import READINESS_KINDS
from tests.support.apiserver.cluster import moment
from tests.unit.kudo.plans.runs.control_promises import held_up_instance_says_so, passed_limits
from tests.unit.reconciler.lives.inventory.observed import assert_records_at_rest
from tests.unit.reconciler.lives.observed import Observed
from tests.unit.reconciler.lives.users import NAMES

GRACE: Final = timedelta(seconds=2)
"""That the reconciler may be late with the end of a run, by a clock of whole seconds."""


def stuck_by_itself(observed: Observed, name: str) -> bool:
    """Return whether an Instance runs a plan with a task that fails again and again.

    Raises:
        AssertionError: it runs any other plan.
    """
    raw = observed.instance(name)
    if raw is None:
        return False
    instance = Instance.from_wire(raw)
    plan = instance.scheduled.plan_name
    if not plan:
        return False
    entry = instance.plan_status.get(plan)
    steps = [step for phase in (entry.phases if entry else ()) or () for step in phase.steps or ()]
    errors = [step for step in steps if step.status == "ERROR"]
    assert errors, f"{name} waits for ever: {raw['spec']} {raw.get('status')}"
    assert all("dummy error" in (step.message or "") for step in errors), f"{name}: {errors}"
    return True


def assert_stalled_without_version(observed: Observed) -> None:
    """Instances whose OperatorVersion is missing say so."""
    for name in NAMES:
        raw = observed.instance(name)
        if raw is not None and observed.version(Instance.from_wire(raw)) is None:
            _assert_stalled(Instance.from_wire(raw), "InvalidOperatorVersion")


def suspended(observed: Observed) -> list[str]:
    """Return the Instances that are suspended, whose status has to say so at rest."""
    found = []
    for name in NAMES:
        raw = observed.instance(name)
        if raw is None:
            continue
        instance = Instance.from_wire(raw)
        if observed.version(instance) is not None:
            since = instance.status.suspended_at
            assert instance.suspended == (since is not None), f"{name} is suspended since {since}"
            if instance.suspended:
                held_up_instance_says_so(instance)
        if instance.suspended:
            found.append(name)
    return found


def assert_within_limits(observed: Observed) -> None:
    """No run goes on beyond a time limit, unless its Instance is suspended."""
    for name in NAMES:
        raw = observed.instance(name)
        if raw is None:
            continue
        instance = Instance.from_wire(raw)
        versions = observed.known_versions(instance)
        for entry in running(instance.plan_status).values():
            if not instance.suspended and len(versions) == 1:
                default = instance.spec.plan_timeout
                passed = passed_limits(entry, versions[0], default, moment() - GRACE)
                assert not passed, f"{name} runs on although {passed} passed: {entry}"


def assert_at_rest(observed: Observed) -> None:
    """Hold what is there against what KUDO promises of it."""
    for name in NAMES:
        raw = observed.instance(name)
        if raw is not None:
            _assert_settled(observed, Instance.from_wire(raw))
    _assert_runs_ended(observed)
    assert_events(observed)
    observed.records.assert_few_writes()


def _assert_settled(observed: Observed, instance: Instance) -> None:
    assert not instance.metadata.deleting, f"{instance.key} is not gone"
    status = instance.status
    version = observed.version(instance)
    last = status.last_run
    if last is not None and (entry := instance.plan_status.get(last.plan or "")) is not None:
        assert entry.uid != last.uid or last.status == entry.status
    assert version is not None
    assert not instance.scheduled.plan_name, f"{instance.scheduled} is not cleared"
    before = observed.version_in_force(instance)
    revalidation = revalidate_idle(instance, version, before=before)
    if revalidation.problems:
        assert not observed.lawful, f"admitted, then refused: {revalidation}"
        _assert_stalled(instance, revalidation.problems[0].reason)
        return
    assert revalidation.plan is None, f"{revalidation.plan} is not run"
    assert not running(instance.plan_status)
    _assert_in_force(instance, version)
    situation = settled(status, readiness(_workloads(observed, instance.metadata.name)))
    _assert_says(instance, situation)
    assert_records_at_rest(observed.records, instance)


def _assert_in_force(instance: Instance, version: OperatorVersion) -> None:
    """All values are in force; behind a failed run, the status names those that are not."""
    status, now = instance.status, fingerprints(instance.parameters)
    assert status.last_run is not None, f"{instance.key} has no record"
    recorded = status.last_run.parameters or {}
    missed = sorted(n for n in version.declared if recorded.get(n) != now.get(n))
    failed = status.last_run.status == ExecutionStatus.FATAL_ERROR
    assert failed or not missed, f"stored and never applied: {missed}"
    named = status.not_in_force.parameters if status.not_in_force else ()
    assert list(named) == missed, f"{named} are named instead of {missed}"


def _assert_stalled(instance: Instance, reason: str) -> None:
    conditions = instance.status.conditions or ()
    ready = next(one for one in conditions if one.type == "Ready")
    assert (ready.status, ready.reason) == ("False", reason), f"{reason}: {conditions}"
    assert ready.message
    assert instance.status.observed_generation == instance.metadata.generation


def _assert_says(instance: Instance, situation: Situation) -> None:
    desired = with_conditions(instance, instance.status, situation, "")
    assert desired == instance.status, f"{situation}: {instance.status}"


def _workloads(observed: Observed, name: str) -> list[dict[str, object]]:
    storage = observed.server.storage
    return [
        obj
        for kind in READINESS_KINDS
        for obj in storage.table((kind.group, kind.plural)).objects.values()
        if (obj["metadata"].get("labels") or {}).get(LABEL_INSTANCE) == name
    ]


def _assert_runs_ended(observed: Observed) -> None:
    for uid, story in observed.stories.items():
        raw = observed.instance(story.name)
        if observed.lawful and raw is not None and raw["metadata"]["uid"] == uid:
            lost = story.record.lost
            assert not lost, f"admitted, but never run: {sorted(lost)}"


def assert_events(observed: Observed) -> None:
    """Each run has one start and one end event.

    Excepted is what was deleted without our finalizer, since it may be gone before anybody knows. A
    run that was cleared past admission is told to have ended without a result.
    """
    missing = [
        (story.name, run, what)
        for uid, story in observed.stories.items()
        if not story.let_go
        for run in sorted(story.record.begun - story.left_behind)
        for what in ("started", "finished")
        if (uid, run, what) not in observed.events
        and (uid, run, "planresultunknown") not in observed.events
    ]
    assert not missing, f"events are missing: {missing}"
