"""The whole life of an Instance as pure functions, with everything that can come between.

Users change the spec through admission, or past it where its configurations are missing. The
reconciler writes one thing at a time, and between any two writes users may change the Instance, the
reconciler may die, and the cache may lag behind. What holds in every such life is asserted at each
write; whether a life comes to rest is asserted at its end.

HYPOTHESIS_PROFILE=deep looks at far more lives.
"""

import itertools
import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

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
from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    JsonObject,
    OperatorVersion,
    Plan,
    PlanStatus,
)
from kudo.conditions import PLAN_IN_FATAL_ERROR, Situation, find
from kudo.execution import (
    StepOutcome,
    StepRef,
    check_plan,
    ensure_entries,
    fail,
    is_single_step,
    record,
    runnable,
    status_of,
)
from kudo.fingerprints import fingerprint
from kudo.names import FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.plans import active_run
from kudo.problems import Problem
from kudo.run_status import begun, failure_text, running, settled, with_conditions, with_entry
from kudo.stored import Verdict, judge_idle, judge_scheduled, run_in_progress
from tests.unit.kudo.test_admission_objects import patched

S = ExecutionStatus
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
ENOUGH_PASSES = 60
ENOUGH_RUNS = 4
"""One that is scheduled, one that nobody scheduled, cleanup, and one in the place of another."""
_RANK = {S.NEVER_RUN: 0, S.PENDING: 1, S.IN_PROGRESS: 2, S.ERROR: 2}
_TERMINAL = 3
T = TypeVar("T")
Writing = Generator[str, None, T]
"""Yields before each write; what is returned is known after the last one."""


class Outdated(Exception):
    """A write named a state that is no more."""


@dataclass
class Record:
    """What has been seen of the runs of an Instance, to hold later states against it."""

    admitted: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    statuses: dict[str, ExecutionStatus] = field(default_factory=dict)
    steps: dict[str, frozenset[tuple[str, int, str, int]]] = field(default_factory=dict)

    def note(self, instance: Instance) -> None:
        """Take up a state; nothing in it may fall back behind what was seen before."""
        for entry in instance.plan_status.values():
            if entry.uid:
                self._note_entry(entry.uid, entry)

    def _note_entry(self, uid: str, entry: PlanStatus) -> None:
        self.begun.add(uid)
        before, after = self.statuses.get(uid, S.NEVER_RUN), status_of(entry)
        if before.terminal:
            assert after is before, f"{uid} was {before} and became {after}"
        assert _rank(after) >= _rank(before), f"{uid} went from {before} back to {after}"
        self.statuses[uid] = after
        layout, complete = _steps(entry)
        forgotten = (self.steps.get(uid, frozenset()) & layout) - complete
        assert not forgotten, f"finished steps of {uid} are forgotten: {sorted(forgotten)}"
        self.steps[uid] = complete


def _rank(status: ExecutionStatus) -> int:
    return _RANK.get(status, _TERMINAL)


def _steps(
    entry: PlanStatus,
) -> tuple[frozenset[tuple[str, int, str, int]], frozenset[tuple[str, int, str, int]]]:
    """Return the steps by name and occurrence, and those of them that are COMPLETE."""
    known: dict[tuple[str, int, str, int], bool] = {}
    phases: dict[str, int] = {}
    for phase in entry.phases or ():
        phases[phase.name] = phases.get(phase.name, 0) + 1
        steps: dict[str, int] = {}
        for step in phase.steps or ():
            steps[step.name] = steps.get(step.name, 0) + 1
            key = (phase.name, phases[phase.name], step.name, steps[step.name])
            known[key] = step.status == S.COMPLETE
    return frozenset(known), frozenset(key for key, complete in known.items() if complete)


@dataclass
class Cluster:
    """The API server with one Instance, and a cache that may lag behind it."""

    versions: dict[str, OperatorVersion] = field(default_factory=dict)
    stored: Instance | None = None
    record: Record = field(default_factory=Record)
    seen: list[Instance | None] = field(default_factory=lambda: [None])
    """What the cache may show: nothing older than the last own write."""
    events: set[tuple[str, str]] = field(default_factory=set)
    """uid of a run and what was told of it; an event that is written again changes nothing."""
    refusing: bool = False
    count: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def now(self) -> str:
        second = next(self.count)
        return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"

    def fresh_uid(self) -> str:
        return f"u{next(self.count)}"

    def version(self, key: tuple[str, str]) -> OperatorVersion | None:
        return self.versions.get(key[1])

    def store(self, new: Instance, *, own: bool) -> Instance:
        """Store an object as the API server does: another resourceVersion, perhaps generation."""
        old = self.stored
        generation = old.metadata.generation if old else 0
        if old is None or old.spec != new.spec:
            generation += 1
        metadata = new.metadata.model_copy(
            update={"resource_version": str(next(self.count)), "generation": generation}
        )
        new = Instance.from_wire(new.model_copy(update={"metadata": metadata}).to_wire())
        if own and old is not None:
            self._no_trigger_is_lost(old, new)
        self.record.note(new)
        gone = new.metadata.deleting and not new.metadata.finalizers
        self.stored = None if gone else new
        self.seen = [self.stored] if own else [*self.seen, self.stored]
        return new

    def _no_trigger_is_lost(self, old: Instance, new: Instance) -> None:
        uid = old.scheduled.uid or ""
        if uid in self.record.admitted and new.scheduled.uid != uid:
            known = uid in self.record.begun
            assert known or new.metadata.deleting or self.refusing, f"run {uid} is lost"

    def expect(self, instance: Instance) -> Instance:
        """Return what is stored, if it is what was read."""
        stored = self.stored
        if stored is None or stored.metadata.resource_version != instance.metadata.resource_version:
            self.seen = [stored]
            raise Outdated
        return stored


@dataclass
class Reconciler:
    """The passes of the reconciler, in the order of its writes.

    Attributes:
        cluster: Where it reads and writes.
        fates: What becomes of each task; those that are not named wait.
        memory: uid and version of the run that this process has taken over.
        lawful: Whether every change came through admission, so that nothing is ever refused.
    """

    cluster: Cluster
    fates: dict[str, ExecutionStatus] = field(default_factory=dict)
    memory: tuple[str, OperatorVersion] | None = None
    lawful: bool = True

    def reconcile(self, instance: Instance | None) -> Writing[str]:
        """Do one pass over what the cache shows."""
        if instance is None:
            self.memory = None
            return "gone"
        deleting = instance.metadata.deleting
        if deleting and FINALIZER_CLEANUP not in (instance.metadata.finalizers or ()):
            self.memory = None
            return "deleting"
        version = self.cluster.version(instance.operator_version_key)
        if version is None:
            return (yield from self._without_version(instance))
        if deleting:
            return (yield from self._delete(instance, version))
        if not instance.scheduled.plan_name:
            self.memory = None
            return (yield from self._settle(instance, version))
        return (yield from self._proceed(instance, version))

    # Nothing is scheduled

    def _settle(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        entries = ensure_entries(version.plans, instance.plan_status)
        for name, entry in running(entries).items():
            entries[name] = fail(entry, "ended without a recorded result", self.cluster.now())
        status = instance.status.model_copy(update={"plan_status": entries})
        verdict = self._judged(judge_idle(instance, version))
        if verdict.problems:
            situation = Situation((verdict.problems[0].reason, _text(verdict.problems)))
            yield from self._write_situation(instance, status, situation)
            return "refused"
        if verdict.plan is not None:
            yield from self._schedule(instance, verdict.plan, self.cluster.fresh_uid())
            return "scheduled"
        yield from self._write_situation(instance, status, settled(status, ()))
        return "idle"

    def _judged(self, verdict: Verdict) -> Verdict:
        assert not (self.lawful and verdict.problems), f"admitted, then refused: {verdict}"
        return verdict

    def _without_version(self, instance: Instance) -> Writing[str]:
        if instance.metadata.deleting:
            yield from self._release(instance)
            return "deleting"
        situation = Situation(("InvalidOperatorVersion", "OperatorVersion does not exist"))
        yield from self._write_situation(instance, instance.status, situation)
        return "invalid"

    def _delete(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        if PLAN_CLEANUP not in version.plans:
            self.memory = None
            yield from self._release(instance)
            return "deleting"
        if instance.scheduled.plan_name == PLAN_CLEANUP:
            return (yield from self._proceed(instance, version))
        self.memory = None
        entries = dict(instance.plan_status)
        for name, entry in running(entries).items():
            entries[name] = fail(entry, "stopped: Instance is being deleted", self.cluster.now())
            yield from self._event(entry.uid or "", "finished")
        status = instance.status.model_copy(update={"plan_status": entries})
        instance = yield from self._write_status(instance, status)
        yield from self._schedule(instance, PLAN_CLEANUP, self.cluster.fresh_uid())
        return "scheduled"

    # Something is scheduled

    def _proceed(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        name, uid = _run_of(instance)
        if not uid:
            yield from self._schedule(instance, name, self.cluster.fresh_uid())
            return "scheduled"
        entry = instance.plan_status.get(name)
        if entry is not None and entry.uid == uid and status_of(entry).terminal:
            return (yield from self._end(instance, version, entry))
        if instance.scheduled.status == S.FATAL_ERROR:
            return (yield from self._cancel(instance, version))
        begun_before = entry is not None and entry.uid == uid
        if self.memory is None or self.memory[0] != uid or not begun_before:
            taken = yield from self._take_over(instance)
            if taken is None:
                return "refused run"
            instance, version = taken
        else:
            version = self.memory[1]
        return (yield from self._advance(instance, version))

    def _take_over(self, instance: Instance) -> Writing[tuple[Instance, OperatorVersion] | None]:
        live = self.cluster.stored
        if live is None or live.scheduled != instance.scheduled or active_run(live) is None:
            self.cluster.seen = [live]
            raise Outdated
        version = self.cluster.version(live.operator_version_key)
        if version is None:
            raise Outdated
        verdict = self._judged(judge_scheduled(live, version))
        if verdict.problems:
            yield from self._refuse(live, version, verdict.problems)
            return None
        present = live.metadata.finalizers or ()
        wanted = PLAN_CLEANUP in version.plans
        if not live.metadata.deleting and wanted != (FINALIZER_CLEANUP in present):
            kept = tuple(item for item in present if item != FINALIZER_CLEANUP)
            live = yield from self._set_finalizers(
                live, (*kept, FINALIZER_CLEANUP) if wanted else kept
            )
        yield from self._announce(live)
        self.memory = (live.scheduled.uid or "", version)
        return live, version

    def _announce(self, instance: Instance) -> Writing[None]:
        uid = instance.scheduled.uid or ""
        replaced = {entry.uid or "" for entry in running(instance.plan_status).values()}
        if self.memory is not None:
            replaced.add(self.memory[0])
        for old in sorted(replaced - {uid, ""}):
            yield from self._event(old, "finished")
        yield from self._event(uid, "started")

    def _event(self, uid: str, what: str) -> Writing[None]:
        yield f"event: {what}"
        self.cluster.events.add((uid, what))

    def _refuse(
        self, instance: Instance, version: OperatorVersion, problems: tuple[Problem, ...]
    ) -> Writing[None]:
        self.cluster.refusing = True
        try:
            plan = run_in_progress(instance)
            if plan is None:
                yield from self._clear(instance.scheduled.uid or "")
            elif (plan, instance.plan_status[plan].uid) == _run_of(instance):
                status = begun(instance, version, self.cluster.now())
                yield from self._fail(instance, version, status, _text(problems))
            else:
                uid = instance.plan_status[plan].uid or ""
                yield from self._schedule(instance, plan, uid)
        finally:
            self.cluster.refusing = False

    def _advance(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        name, _ = _run_of(instance)
        status = begun(instance, version, self.cluster.now())
        entry = (status.plan_status or {})[name]
        plan = version.plans.get(name)
        if plan is None:
            text = f"could not find required plan: '{name}'"
            return (yield from self._fail(instance, version, status, text))
        problems = tuple(check_plan(name, plan))
        if problems:
            return (yield from self._fail(instance, version, status, _text(problems)))
        entry = record(entry, {}, self.cluster.now())
        attempted: set[StepRef] = set()
        while steps := [ref for ref in runnable(plan, entry) if ref not in attempted]:
            if attempted or not is_single_step(plan):
                instance = yield from self._write_status(instance, with_entry(status, entry))
                _assert_what_comes_first_is_stored(plan, instance.plan_status[name], steps)
            attempted.update(steps)
            outcomes = {ref: self._run_step(ref) for ref in steps}
            entry = record(entry, outcomes, self.cluster.now())
            if S.FATAL_ERROR in {out.status for out in outcomes.values()}:
                break
        status = with_entry(status, entry)
        if status_of(entry).terminal:
            return (yield from self._finish(instance, version, status, entry))
        yield from self._write_status(instance, status)
        return "waiting"

    def _run_step(self, ref: StepRef) -> StepOutcome:
        status = self.fates.get(ref.step, S.IN_PROGRESS)
        message = None if status is S.COMPLETE else f"{ref} waits for ConfigMap ns/c or has failed"
        return StepOutcome(status, message)

    # The end

    def _cancel(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        name, uid = _run_of(instance)
        known = instance.plan_status.get(name)
        if known is None or known.uid != uid:
            verdict = self._judged(judge_scheduled(instance, version))
            if verdict.problems:
                yield from self._refuse(instance, version, verdict.problems)
                return "refused run"
            yield from self._announce(instance)
        status = begun(instance, version, self.cluster.now())
        text = f"cancelled by {instance.scheduled.cancelled_by or 'request'}"
        return (yield from self._fail(instance, version, status, text))

    def _fail(
        self, instance: Instance, version: OperatorVersion, status: InstanceStatus, text: str
    ) -> Writing[str]:
        entry = (status.plan_status or {})[instance.scheduled.plan_name or ""]
        entry = fail(entry, text, self.cluster.now())
        return (yield from self._finish(instance, version, with_entry(status, entry), entry))

    def _finish(
        self,
        instance: Instance,
        version: OperatorVersion,
        status: InstanceStatus,
        entry: PlanStatus,
    ) -> Writing[str]:
        if instance.metadata.deleting:
            situation = settled(status, ())
            if status_of(entry) is S.FATAL_ERROR:
                situation = Situation((PLAN_IN_FATAL_ERROR, failure_text(entry)))
            status = with_conditions(instance, status, situation, self.cluster.now())
        written = yield from self._write_status(instance, status)
        return (yield from self._end(written, version, entry))

    def _end(self, instance: Instance, version: OperatorVersion, entry: PlanStatus) -> Writing[str]:
        yield from self._event(entry.uid or "", "finished")
        self.memory = None
        if instance.metadata.deleting:
            yield from self._release(instance)
            return "deleted"
        cleared = yield from self._clear(entry.uid or "")
        yield from self._settle(cleared, version)
        return "finished"

    # Writes

    def _write_situation(
        self, instance: Instance, status: InstanceStatus, situation: Situation
    ) -> Writing[Instance]:
        status = with_conditions(instance, status, situation, self.cluster.now())
        return (yield from self._write_status(instance, status))

    def _write_status(self, instance: Instance, status: InstanceStatus) -> Writing[Instance]:
        if status == instance.status:
            return instance
        yield "status"
        stored = self.cluster.expect(instance)
        written = self.cluster.store(stored.model_copy(update={"status": status}), own=True)
        self._assert_sound(stored, written)
        return written

    def _assert_sound(self, before: Instance, written: Instance) -> None:
        entries = running(written.plan_status)
        if self.cluster.version(written.operator_version_key) is None:
            return
        assert len(entries) <= 1, f"several plans run: {sorted(entries)}"
        if not written.metadata.deleting:
            assert PLAN_CLEANUP not in entries, "cleanup runs although nothing is deleted"
        old, new = before.status.last_run, written.status.last_run
        if old is not None and not written.metadata.deleting:
            assert new is not None
            if old.operator_version == new.operator_version:
                assert (old.parameters or {}).get("FIXED") == (new.parameters or {}).get("FIXED")

    def _schedule(self, instance: Instance, plan: str, uid: str) -> Writing[Instance]:
        yield "schedule"
        stored = self.cluster.expect(instance)
        run = {"planName": plan, "uid": uid, "status": "NEVER_RUN"}
        return self.cluster.store(_with_run(stored, run), own=True)

    def _clear(self, uid: str) -> Writing[Instance]:
        yield "clear"
        stored = self.cluster.stored
        if stored is None or stored.scheduled.uid != uid:
            self.cluster.seen = [stored]
            raise Outdated
        return self.cluster.store(_with_run(stored, {}), own=True)

    def _set_finalizers(self, instance: Instance, names: tuple[str, ...]) -> Writing[Instance]:
        yield "finalizers"
        stored = self.cluster.expect(instance)
        metadata = stored.metadata.model_copy(update={"finalizers": names})
        return self.cluster.store(stored.model_copy(update={"metadata": metadata}), own=True)

    def _release(self, instance: Instance) -> Writing[None]:
        present = instance.metadata.finalizers or ()
        rest = tuple(name for name in present if name != FINALIZER_CLEANUP)
        yield from self._set_finalizers(instance, rest)


def _run_of(instance: Instance) -> tuple[str, str]:
    return instance.scheduled.plan_name or "", instance.scheduled.uid or ""


def _text(problems: tuple[Problem, ...]) -> str:
    return "; ".join(problem.message for problem in problems)


def _with_run(instance: Instance, run: JsonObject) -> Instance:
    wire = instance.to_wire()
    return Instance.from_wire({**wire, "spec": {**wire.get("spec", {}), "planExecution": run}})


def _assert_what_comes_first_is_stored(
    plan: Plan, stored: PlanStatus, steps: list[StepRef]
) -> None:
    assert set(steps) <= set(runnable(plan, stored))


# What users do

PARAMETERS = ("SIZE", "PORT", "NOTE", "COUNT", "LATE", "FIXED")
Edit = JsonObject
"""Parameters to set (None removes), the version to use, and the run to ask for."""


def edited(stored: Instance, edit: Edit) -> JsonObject:
    """Return the object that a user sends."""
    wire = stored.to_wire()
    spec: JsonObject = dict(wire.get("spec", {}))
    parameters = {**spec.get("parameters", {}), **edit["parameters"]}
    spec["parameters"] = {n: v for n, v in parameters.items() if v is not None}
    if edit["of"] is not None:
        spec["operatorVersion"] = {"name": edit["of"]}
    run = edit["run"]
    if run == "clear":
        spec["planExecution"] = {}
    elif run == "cancel":
        spec["planExecution"] = {**spec.get("planExecution", {}), "status": "FATAL_ERROR"}
    elif run is not None:
        spec["planExecution"] = {n: v for n, v in run.items() if v is not None}
    return {**wire, "spec": spec, "status": wire.get("status", {})}


_values = st.fixed_dictionaries(
    {},
    optional={
        "SIZE": st.sampled_from(["1", "2", "3", None]),
        "PORT": st.sampled_from(["80", "81", None]),
        "NOTE": st.sampled_from(["", "x", None]),
        "COUNT": st.sampled_from(["1", "2", "many", None]),
        "LATE": st.sampled_from(["1", "2", None]),
        "FIXED": st.sampled_from(["a", "b", None]),
    },
)
_few_values = st.one_of(st.just(dict[str, str | None]()), _values)
_plan_names = st.sampled_from(["deploy", "update", "upgrade", "custom", "cleanup"])
_asked = st.fixed_dictionaries(
    {
        "planName": _plan_names,
        "uid": st.sampled_from([None, "x", "y"]),
        "status": st.sampled_from([None, "FATAL_ERROR", "COMPLETE"]),
    }
)
_edits: st.SearchStrategy[Edit] = st.fixed_dictionaries(
    {
        "parameters": _few_values,
        "of": st.sampled_from([None, None, None, "v1", "v2"]),
        "run": st.one_of(
            st.none(), st.none(), st.just("cancel"), st.just("cancel"), st.just("clear"), _asked
        ),
    }
)
_strategies = st.sampled_from(["", "serial", "parallel"])
STEPS = ("a", "b", "c", "d")


@st.composite
def _plan(draw: st.DrawFn, strategies: st.SearchStrategy[str]) -> JsonObject:
    phases = draw(st.lists(st.lists(st.sampled_from(STEPS), max_size=2), max_size=2))
    return {
        "strategy": draw(strategies),
        "phases": [
            {
                "name": f"p{number}",
                "strategy": draw(strategies),
                "steps": [{"name": step, "tasks": [step]} for step in steps],
            }
            for number, steps in enumerate(phases)
        ],
    }


@st.composite
def _versions(draw: st.DrawFn, *, broken: bool = False) -> JsonObject:
    """Draw an OperatorVersion without a name; a broken one may lack deploy or have odd plans."""
    optional = st.sets(st.sampled_from(["update", "upgrade", "custom", "cleanup"]))
    names = {"deploy"} | draw(optional)
    strategies = _strategies
    if broken:
        names -= draw(st.sets(st.sampled_from(["deploy", "custom"]), max_size=1))
        strategies = st.one_of(_strategies, st.just("odd"))
    triggers = st.sampled_from([None, *sorted(names - {"cleanup"})])
    parameters: list[JsonObject] = [
        {"name": "SIZE", "trigger": draw(triggers), "default": "1"},
        {"name": "PORT", "trigger": draw(triggers), "default": "80"},
        {"name": "COUNT", "value-type": "integer", "default": "1"},
        {"name": "FIXED", "immutable": True, "default": "a"},
    ]
    if draw(st.booleans()):
        parameters.append({"name": "NOTE", "required": draw(st.booleans())})
    if draw(st.booleans()):
        immutable = draw(st.booleans())
        parameters.append({"name": "LATE", "immutable": immutable, "default": "1"})
    plans = {name: draw(_plan(strategies)) for name in sorted(names)}
    return {
        "operator": {"name": "first"},
        "version": "1",
        "plans": plans,
        "parameters": parameters,
    }


def _version(name: str, spec: JsonObject) -> OperatorVersion:
    wire = {"metadata": {"name": name, "namespace": "ns"}, "spec": spec}
    return OperatorVersion.from_wire(wire)


class Life(RuleBasedStateMachine):
    """The life of an Instance whose every change is admitted."""

    lawful = True

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.reconciler = Reconciler(self.cluster, lawful=self.lawful)
        self.current: Writing[str] | None = None
        self.deaths = 0

    @initialize(first=_versions(), second=_versions(), values=_values)
    def create(
        self, first: JsonObject, second: JsonObject, values: Mapping[str, str | None]
    ) -> None:
        self.cluster.versions = {"v1": _version("v1", first), "v2": _version("v2", second)}
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
        old = self.cluster.stored
        before = None if old is None else old.to_wire() | {"status": old.status.to_wire()}
        decision, final = self._admitted(submitted, before)
        if not decision.allowed:
            return
        status = {} if before is None else before["status"]
        new = Instance.from_wire({**final, "status": status})
        if self.lawful and old is not None:
            fixed = old.parameters.get("FIXED"), new.parameters.get("FIXED")
            assert fixed[0] == fixed[1], "an immutable parameter was changed"
        if decision.plan is not None:
            self.cluster.record.admitted.add(new.scheduled.uid or "")
        self.cluster.store(new, own=False)

    def _admitted(
        self, submitted: JsonObject, before: JsonObject | None
    ) -> tuple[Decision, JsonObject]:
        versions: dict[tuple[str, str], OperatorVersion | None] = {
            ("ns", name): version for name, version in self.cluster.versions.items()
        }
        decision = mutate(_review(submitted, before), versions, fresh_uid=self.cluster.fresh_uid)
        if not decision.allowed:
            return decision, submitted
        final = patched(submitted, decision)
        checked = validate(_review(final, before), versions)
        assert checked.allowed, f"mutated, then denied: {checked.problems}"
        return decision, final

    @precondition(lambda self: self.there)
    @rule(edit=_edits)
    def a_user_changes_the_instance(self, edit: Edit) -> None:
        assert self.cluster.stored is not None
        self.submit(edited(self.cluster.stored, edit))

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
            self.cluster.store(stored.model_copy(update={"metadata": metadata}), own=False)

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
        ready, reconciling = find(conditions, "Ready"), find(conditions, "Reconciling")
        assert reconciling is not None
        assert instance.status.observed_generation == instance.metadata.generation
        if outcome == "waiting":
            entry = instance.plan_status[instance.scheduled.plan_name or ""]
            steps = [step for phase in entry.phases or () for step in phase.steps or ()]
            waiting = [step for step in steps if step.status in {S.IN_PROGRESS, S.ERROR}]
            assert waiting
            assert all("ConfigMap ns/c" in (step.message or "") for step in waiting)
            assert reconciling.status == "True"
            return
        assert reconciling.status == "False"
        assert ready is not None
        if outcome == "idle":
            assert not instance.metadata.deleting
            assert instance.scheduled.plan_name is None
            assert not running(instance.plan_status)
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
        """Each run has one start and one end event.

        A death after the terminal status can lose the end event, if the run is then cleared or
        replaced before another process sees it.
        """
        runs, events = self.cluster.record.begun, self.cluster.events
        told = {(uid, what) for uid in runs for what in ("started", "finished")}
        assert events <= told
        missing = told - events
        assert len(missing) <= self.deaths, f"events are missing: {sorted(missing)}"
        assert all(what == "finished" for _, what in missing)


def _review(submitted: JsonObject, before: JsonObject | None) -> Review:
    user = "somebody"
    if before is None:
        return Review.of(Request("CREATE", "ns", "i", submitted, None, user))
    return Review.of(Request("UPDATE", "ns", "i", submitted, before, user))


class LifeWithoutWebhooks(Life):
    """The life of an Instance whose changes may pass admission by, and whose versions change."""

    lawful = False

    @precondition(lambda self: self.there)
    @rule(edit=_edits)
    def a_change_passes_admission_by(self, edit: Edit) -> None:
        self.pass_by(edit)

    def pass_by(self, edit: Edit) -> None:
        stored = self.cluster.stored
        assert stored is not None
        wire = edited(stored, edit)
        run = wire["spec"].get("planExecution") or {}
        if run.get("uid") in {"x", "y"}:
            wire["spec"]["planExecution"] = {**run, "uid": self.cluster.fresh_uid()}
        self.cluster.store(Instance.from_wire(wire), own=False)

    @precondition(lambda self: self.there)
    @rule(values=_values)
    def values_pass_admission_by(self, values: Mapping[str, str | None]) -> None:
        self.pass_by({"parameters": values, "of": None, "run": None})

    @rule(name=st.sampled_from(["v1", "v2"]), spec=_versions(broken=True))
    def somebody_edits_a_version(self, name: str, spec: JsonObject) -> None:
        self.cluster.versions[name] = _version(name, spec)

    @rule(name=st.sampled_from(["v1", "v2"]))
    def somebody_deletes_a_version(self, name: str) -> None:
        self.cluster.versions.pop(name, None)

    @precondition(lambda self: self.there)
    @rule(plan=_plan_names, status=st.sampled_from(["IN_PROGRESS", "PENDING", "ERROR"]))
    def the_original_left_a_run_behind(self, plan: str, status: str) -> None:
        stored = self.cluster.stored
        assert stored is not None
        if stored.plan_status.get(plan) is None and not running(stored.plan_status):
            entry = PlanStatus(name=plan, uid=self.cluster.fresh_uid(), status=status)
            left = with_entry(stored.status, entry)
            self.cluster.store(stored.model_copy(update={"status": left}), own=False)


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
    life.cluster.versions = {"v1": _version("v1", spec)}
    metadata: JsonObject = {"name": "i", "namespace": "ns", "uid": "i"}
    life.submit({"metadata": metadata, "spec": {"operatorVersion": {"name": "v1"}}})
    assert life.one_pass() == "waiting"
    return life


def _stored(life: Life) -> Instance:
    assert life.cluster.stored is not None
    return life.cluster.stored


def _settings(examples: int, deep: int, steps: int) -> settings:
    return settings(
        max_examples=deep if DEEP else examples,
        stateful_step_count=steps * 2 if DEEP else steps,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
    )


def test_every_admitted_life_keeps_its_promises_and_comes_to_rest() -> None:
    run_state_machine_as_test(Life, settings=_settings(100, 4000, 25))


def test_a_life_past_admission_keeps_its_promises_and_comes_to_rest() -> None:
    run_state_machine_as_test(LifeWithoutWebhooks, settings=_settings(100, 4000, 25))
