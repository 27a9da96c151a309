"""State machines: what can come between in the life of an Instance; no tests of its own.

Users change the spec through admission, or past it where its configurations are missing. The
reconciler writes one thing at a time, and between any two writes users may change the Instance, the
reconciler may die, and the cache may lag behind. What holds in every such life is asserted at each
write; whether a life comes to rest is asserted at its end.

`make properties` looks at far more lives.
"""

from collections.abc import Mapping

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kudo.admission import Decision, Request, Review, mutate, validate
from kudo.api import ExecutionStatus, Instance, JsonObject, OperatorVersion
from kudo.run_status import running
from tests.support.properties import DEEP, examples
from tests.unit.kudo.lifecycle_changes import (
    STEPS,
    Edit,
    edited,
    edits,
    values,
    version,
    versions,
)
from tests.unit.kudo.lifecycle_model import Cluster, Outdated
from tests.unit.kudo.lifecycle_reconciler import Reconciler, Writing
from tests.unit.kudo.test_admission_objects import patched

S = ExecutionStatus
ENOUGH_PASSES = 60
ENOUGH_RUNS = 4
"""One that is scheduled, one that nobody scheduled, cleanup, and one in the place of another."""


def run_lives(machine: type["Life"]) -> None:
    """Let many lives of one kind pass.

    Raises:
        AssertionError: a promise was broken, or a life came to no rest.
    """
    steps = 50 if DEEP else 25
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(40, deep=4_000),
            stateful_step_count=steps,
            print_blob=False,
            report_multiple_bugs=False,
            phases=[Phase.generate, Phase.shrink],
        ),
    )


class Life(RuleBasedStateMachine):
    """The life of an Instance whose every change is admitted."""

    lawful = True

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(lawful=self.lawful)
        self.reconciler = Reconciler(self.cluster)
        self.current: Writing[str] | None = None
        self.deaths = 0

    @initialize(first=versions(), second=versions(), values=values)
    def create(
        self, first: JsonObject, second: JsonObject, values: Mapping[str, str | None]
    ) -> None:
        self.cluster.versions = {"v1": version("v1", first), "v2": version("v2", second)}
        wanted = {"NOTE": "n", **values}
        if wanted.get("COUNT") == "many":
            wanted["COUNT"] = "1"
        wanted["NOTE"] = wanted["NOTE"] or "n"
        submitted: JsonObject = {
            "metadata": {"name": "i", "namespace": "ns", "uid": "i"},
            "spec": {
                "operatorVersion": {"name": "v1"},
                "parameters": {n: v for n, v in wanted.items() if v is not None},
            },
        }
        self.submit(submitted)
        assert self.there

    # Users

    @property
    def there(self) -> bool:
        return self.cluster.stored is not None

    def submit(self, submitted: JsonObject) -> None:
        """Send a change through both moments of admission."""
        decision, final = self._admitted(submitted, self.before())
        if decision.allowed:
            self.admit(final)

    def before(self) -> JsonObject | None:
        """Return the stored object as admission gets to see it."""
        old = self.cluster.stored
        return None if old is None else old.to_wire() | {"status": old.status.to_wire()}

    def admit(self, final: JsonObject) -> None:
        """Store what admission let pass; the API server keeps the status as it was."""
        old, before = self.cluster.stored, self.before()
        new = Instance.from_wire({**final, "status": before["status"] if before else {}})
        run = new.scheduled
        if run.plan_name and run.uid and (old is None or old.scheduled.uid != run.uid):
            self.cluster.record.admitted.add(run.uid)
        self.cluster.store(new, by="user")

    @property
    def known_versions(self) -> dict[tuple[str, str], OperatorVersion | None]:
        return {("ns", name): found for name, found in self.cluster.versions.items()}

    def _admitted(
        self, submitted: JsonObject, before: JsonObject | None
    ) -> tuple[Decision, JsonObject]:
        decision = self.mutated(submitted, before)
        if not decision.allowed:
            return decision, submitted
        final = patched(submitted, decision)
        checked = validate(review_of(final, before), self.known_versions)
        assert checked.allowed, f"mutated, then denied: {checked.problems}"
        self._assert_idempotent(decision, final, before)
        return decision, final

    def mutated(self, submitted: JsonObject, before: JsonObject | None) -> Decision:
        review = review_of(submitted, before)
        return mutate(review, self.known_versions, fresh_uid=self.cluster.fresh_uid)

    def _assert_idempotent(
        self, decision: Decision, final: JsonObject, before: JsonObject | None
    ) -> None:
        """A second mutation changes nothing but the uid."""
        again = self.mutated(final, before)
        twice = patched(final, again)
        assert again.problems == ()
        assert again.plan == decision.plan
        assert _without_new_uid(twice, again) == _without_new_uid(final, decision)

    @precondition(lambda self: self.there)
    @rule(edit=edits)
    def a_user_changes_the_instance(self, edit: Edit) -> None:
        assert self.cluster.stored is not None
        self.submit(edited(self.cluster.stored, edit))

    @precondition(lambda self: self.there)
    @rule(changed=values)
    def a_user_sets_parameters(self, changed: Mapping[str, str | None]) -> None:
        self.a_user_changes_the_instance({"parameters": changed, "of": None, "run": None})

    @precondition(lambda self: self.there)
    @rule(name=st.sampled_from(["v1", "v2"]))
    def a_user_upgrades(self, name: str) -> None:
        self.a_user_changes_the_instance({"parameters": {}, "of": name, "run": None})

    @precondition(lambda self: self.there)
    @rule()
    def a_user_cancels(self) -> None:
        assert self.cluster.stored is not None
        edit: Edit = {"parameters": {}, "of": None, "run": "cancel"}
        self.submit(edited(self.cluster.stored, edit))

    @precondition(lambda self: self.there)
    @rule(sure=st.integers(0, 3))
    def a_user_deletes_the_instance(self, sure: int) -> None:
        stored = self.cluster.stored
        assert stored is not None
        if sure == 3 and not stored.metadata.deleting:
            moment = {"deletion_timestamp": self.cluster.now()}
            metadata = stored.metadata.model_copy(update=moment)
            self.cluster.store(stored.model_copy(update={"metadata": metadata}), by="user")

    # The reconciler

    @rule(step=st.sampled_from(STEPS), fate=st.sampled_from([S.IN_PROGRESS, S.ERROR, S.COMPLETE]))
    def a_task_gets_on(self, step: str, fate: ExecutionStatus) -> None:
        self.reconciler.fates[step] = fate

    @rule(step=st.sampled_from(STEPS))
    def a_task_fails_for_good(self, step: str) -> None:
        self.reconciler.fates[step] = S.FATAL_ERROR

    @rule(writes=st.integers(1, 8), lag=st.integers(0, 2))
    def the_reconciler_writes(self, writes: int, lag: int) -> None:
        for _ in range(writes):
            self.one_write(lag)

    @rule()
    def the_reconciler_dies(self) -> None:
        self.deaths += 1
        self.current = None
        self.reconciler.memory = None
        self.cluster.seen = [self.cluster.stored]

    def one_write(self, lag: int = 0) -> str | None:
        """Go on to the next write; return how the pass ended if that was the last."""
        if self.current is None:
            seen = self.cluster.seen
            self.current = self.reconciler.reconcile(seen[max(0, len(seen) - 1 - lag)])
        try:
            next(self.current)
        except StopIteration as end:
            self.current = None
            return str(end.value)
        except Outdated:
            self.current = None
            return "outdated"
        return None

    def one_pass(self) -> str:
        while (outcome := self.one_write()) is None:
            pass
        return outcome

    @rule()
    def nothing_happens_for_long(self) -> None:
        """Everything comes to rest once the spec stops changing."""
        known = set(self.cluster.record.begun)
        self.one_pass()
        for _ in range(ENOUGH_PASSES):
            before = self.cluster.stored
            self.cluster.seen = [before]
            outcome = self.one_pass()
            if outcome in {"idle", "gone", "refused", "waiting", "invalid"} and (
                self.cluster.stored == before
            ):
                break
        else:
            raise AssertionError(f"no rest: {outcome}, {self.cluster.stored}")
        begun_now = self.cluster.record.begun - known
        assert len(begun_now) <= ENOUGH_RUNS, f"one run after another: {sorted(begun_now)}"
        self._assert_at_rest(outcome)

    def _assert_at_rest(self, outcome: str) -> None:
        instance = self.cluster.stored
        if instance is None:
            return
        conditions = instance.status.conditions or ()
        kinds = [condition.type for condition in conditions]
        last = instance.status.last_run
        if last is not None and instance.plan_status[last.plan or ""].uid == last.uid:
            assert last.status == instance.plan_status[last.plan or ""].status
        assert instance.status.observed_generation == instance.metadata.generation
        if outcome == "waiting":
            entry = instance.plan_status[instance.scheduled.plan_name or ""]
            steps = [step for phase in entry.phases or () for step in phase.steps or ()]
            waiting = [step for step in steps if step.status in {S.IN_PROGRESS, S.ERROR}]
            assert waiting
            assert all("ConfigMap ns/c" in (step.message or "") for step in waiting)
            assert kinds == ["Ready", "Reconciling"]
            return
        ready = conditions[0]
        assert kinds in (["Ready"], ["Ready", "Stalled"])
        if outcome == "idle":
            assert not instance.metadata.deleting
            assert instance.scheduled.plan_name is None
            assert not running(instance.plan_status)
            if self.lawful:
                lost = self.cluster.record.lost
                assert not lost, f"admitted, but never run: {sorted(lost)}"
        elif outcome in {"refused", "invalid"}:
            assert ready.status == "False"
            assert ready.message

    def teardown(self) -> None:
        for step in STEPS:
            if self.reconciler.fates.get(step) is not S.FATAL_ERROR:
                self.reconciler.fates[step] = S.COMPLETE
        self.nothing_happens_for_long()
        instance = self.cluster.stored
        if instance is not None and self.lawful:
            assert not instance.metadata.deleting
            assert instance.scheduled.plan_name is None
            self._assert_events()
        super().teardown()

    def _assert_events(self) -> None:
        """Each run has one start and one end event, also one that was replaced before it began.

        A death after the terminal status, or after the start event, can lose the end event, if the
        run is then cleared or replaced before another process sees it.
        """
        events = self.cluster.events
        runs = self.cluster.record.begun | {uid for uid, _ in events}
        told = {(uid, what) for uid in runs for what in ("started", "finished")}
        missing = told - events
        assert len(missing) <= self.deaths, f"events are missing: {sorted(missing)}"
        assert all(what == "finished" for _, what in missing)


def review_of(submitted: JsonObject, before: JsonObject | None) -> Review:
    user = "somebody"
    if before is None:
        return Review.of(Request("CREATE", "ns", "i", submitted, None, user))
    return Review.of(Request("UPDATE", "ns", "i", submitted, before, user))


def _without_new_uid(final: JsonObject, decision: Decision) -> JsonObject:
    if decision.plan is None:
        return final
    run = {**final["spec"]["planExecution"], "uid": ""}
    return {**final, "spec": {**final["spec"], "planExecution": run}}
