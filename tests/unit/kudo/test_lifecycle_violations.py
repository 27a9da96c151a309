"""What the reconciler does about changes that no webhook would have let pass."""

from kudo.api import ExecutionStatus, Instance, JsonObject
from kudo.fingerprints import fingerprint
from tests.unit.kudo.lifecycle_changes import STEPS, version
from tests.unit.kudo.lifecycle_life import Life
from tests.unit.kudo.lifecycle_outages import LifeWithoutWebhooks

S = ExecutionStatus


def test_a_run_that_begins_to_violate_a_rule_ends_when_the_reconciler_has_died() -> None:
    life = _waiting_life()
    life.pass_by({"parameters": {"FIXED": "b"}, "of": None, "run": None})
    assert life.one_pass() == "waiting"
    life.the_reconciler_dies()
    assert [life.one_pass() for _ in range(3)] == ["refused run", "refused", "refused"]
    entry = _stored(life).plan_status["deploy"]
    assert entry.status == "FATAL_ERROR"
    assert "parameter 'FIXED' is immutable" in (entry.message or "")
    life.pass_by({"parameters": {"FIXED": "a"}, "of": None, "run": None})
    assert life.one_pass() == "idle"


def test_a_change_before_the_first_status_of_a_run_is_judged_too() -> None:
    life = _waiting_life()
    life.reconciler.fates = dict.fromkeys(STEPS, S.COMPLETE)
    life.nothing_happens_for_long()
    life.pass_by({"parameters": {}, "of": None, "run": {"planName": "deploy", "uid": "x"}})
    while life.reconciler.memory is None:
        assert life.one_write() is None
    life.pass_by({"parameters": {"FIXED": "b"}, "of": None, "run": None})
    outcomes = [life.one_pass() for _ in range(3)]
    assert outcomes == ["outdated", "refused run", "refused"]


def test_a_cancelled_run_that_never_began_makes_no_violation_good() -> None:
    life = _waiting_life()
    life.reconciler.fates = dict.fromkeys(STEPS, S.COMPLETE)
    life.nothing_happens_for_long()
    life.pass_by({"parameters": {"FIXED": "b"}, "of": None, "run": None})
    life.pass_by({"parameters": {}, "of": None, "run": {"planName": "deploy", "uid": "x"}})
    life.pass_by({"parameters": {}, "of": None, "run": "cancel"})
    assert [life.one_pass() for _ in range(2)] == ["refused run", "refused"]
    last = _stored(life).status.last_run
    assert last is not None
    assert (last.parameters or {})["FIXED"] == fingerprint("a")


def _waiting_life() -> LifeWithoutWebhooks:
    """Return a life whose first run waits for its first step."""
    life = LifeWithoutWebhooks()
    steps = [{"name": step, "tasks": [step]} for step in STEPS[:2]]
    spec: JsonObject = {
        "operator": {"name": "first"},
        "plans": {"deploy": {"phases": [{"name": "p0", "steps": steps}]}},
        "parameters": [{"name": "FIXED", "immutable": True, "default": "a"}],
    }
    life.cluster.versions = {"v1": version("v1", spec)}
    metadata: JsonObject = {"name": "i", "namespace": "ns", "uid": "i"}
    life.submit({"metadata": metadata, "spec": {"operatorVersion": {"name": "v1"}}})
    assert life.one_pass() == "waiting"
    return life


def _stored(life: Life) -> Instance:
    assert life.cluster.stored is not None
    return life.cluster.stored
