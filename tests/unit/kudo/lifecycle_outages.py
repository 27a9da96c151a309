"""The life of an Instance while webhooks are away: mutation alone, or both; no tests of its own."""

from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from kudo.admission import validate
from kudo.api import Instance, JsonObject, PlanStatus
from kudo.plans import used_uids
from kudo.run_status import running, with_entry
from tests.unit.kudo.lifecycle_changes import (
    Edit,
    edited,
    edits,
    plan_names,
    values,
    version,
    versions,
)
from tests.unit.kudo.lifecycle_life import Life, review_of


class LifeWithoutMutation(Life):
    """The life of an Instance whose changes are at times validated only."""

    @precondition(lambda self: self.there)
    @rule(edit=edits, by_hand=st.sampled_from(["", "new uid", "used uid"]))
    def a_change_is_validated_only(self, edit: Edit, by_hand: str) -> None:
        assert self.cluster.stored is not None
        before = self.before()
        wire = self.with_fresh_uid(edited(self.cluster.stored, edit))
        plan = self.mutated(wire, before).plan if by_hand else None
        if plan is not None:
            used = sorted(used_uids(self.cluster.stored)) if by_hand == "used uid" else []
            uid = used[0] if used else self.cluster.fresh_uid()
            run = {"planName": plan, "uid": uid, "status": "NEVER_RUN"}
            wire = {**wire, "spec": {**wire["spec"], "planExecution": run}}
        if validate(review_of(wire, before), self.known_versions).allowed:
            self.admit(wire)

    def with_fresh_uid(self, wire: JsonObject) -> JsonObject:
        """Put a new uid in the place of one that an edit made up."""
        run = wire["spec"].get("planExecution") or {}
        if run.get("uid") not in {"x", "y"}:
            return wire
        run = {**run, "uid": self.cluster.fresh_uid()}
        return {**wire, "spec": {**wire["spec"], "planExecution": run}}


class LifeWithoutWebhooks(LifeWithoutMutation):
    """The life of an Instance whose changes may pass admission by, and whose versions change."""

    lawful = False

    @precondition(lambda self: self.there)
    @rule(edit=edits)
    def a_change_passes_admission_by(self, edit: Edit) -> None:
        self.pass_by(edit)

    def pass_by(self, edit: Edit) -> None:
        stored = self.cluster.stored
        assert stored is not None
        wire = self.with_fresh_uid(edited(stored, edit))
        self.cluster.store(Instance.from_wire(wire), by="nobody")

    @precondition(lambda self: self.there)
    @rule(values=values)
    def values_pass_admission_by(self, values: Mapping[str, str | None]) -> None:
        self.pass_by({"parameters": values, "of": None, "run": None})

    @precondition(lambda self: self.there)
    @rule(number=st.integers(0, 4))
    def a_plan_is_named_past_admission(self, number: int) -> None:
        assert self.cluster.stored is not None
        version = self.cluster.version(self.cluster.stored.operator_version_key)
        plans = sorted(version.plans if version else ()) or ["deploy"]
        run = {"planName": plans[number % len(plans)], "uid": "x"}
        self.pass_by({"parameters": {}, "of": None, "run": run})

    @rule(name=st.sampled_from(["v1", "v2"]), spec=versions(broken=True))
    def somebody_edits_a_version(self, name: str, spec: JsonObject) -> None:
        self.cluster.versions[name] = version(name, spec)

    @rule(name=st.sampled_from(["v1", "v2"]))
    def somebody_deletes_a_version(self, name: str) -> None:
        self.cluster.versions.pop(name, None)

    @precondition(lambda self: self.there)
    @rule(plan=plan_names, status=st.sampled_from(["IN_PROGRESS", "PENDING", "ERROR"]))
    def the_original_left_a_run_behind(self, plan: str, status: str) -> None:
        stored = self.cluster.stored
        assert stored is not None
        if stored.plan_status.get(plan) is None and not running(stored.plan_status):
            entry = PlanStatus(name=plan, uid=self.cluster.fresh_uid(), status=status)
            left = with_entry(stored.status, entry)
            self.cluster.store(stored.model_copy(update={"status": left}), by="nobody")
