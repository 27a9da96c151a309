"""What an Instance needs after whatever was accepted: nothing is lost, and nothing runs for ever.

The property plays users, admission and the reconciler over the pure functions. What it expects does
not look at `status.lastRun`: it keeps the values that each run brings into force, by the plan that
each parameter alone would run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.admission.revalidation import Revalidation, revalidate_idle, revalidate_scheduled
from kudo.api import ExecutionStatus, Instance, JsonObject, NotInForce, OperatorVersion
from kudo.api.fingerprints import fingerprint, fingerprints
from kudo.plans.execution import fail, status_of
from kudo.plans.runs.needs import not_in_force
from kudo.plans.runs.plan_choice import not_in_force_after
from kudo.plans.runs.status import begun, with_entry, with_not_in_force
from tests.unit.kudo.builders import V1, instance, mutated, patched, version
from tests.unit.kudo.plans.runs.test_revalidation import idle, last_run

# What a plan leaves


def test_a_plan_leaves_what_would_choose_another_one() -> None:
    table: list[tuple[str, set[str], set[str]]] = [
        ("custom", {"PORT", "NOTE", "SIZE"}, {"NOTE", "SIZE"}),
        ("update", {"PORT", "NOTE", "CLASS"}, {"PORT"}),
        ("deploy", {"PORT", "NOTE", "SIZE", "GHOST"}, set()),
        ("custom", {"GHOST"}, {"GHOST"}),
        ("custom", {"undeclared"}, set()),
        ("nosuch", {"NOTE"}, {"NOTE"}),
    ]
    for plan, names, left in table:
        assert not_in_force_after(V1, plan, names) == left


# Behind a failed run


def after(status: str, parameters: dict[str, str], **pending: str) -> Instance:
    """Return an idle Instance whose plan `custom` has ended, and began with these values."""
    last = last_run(plan="custom") | {"status": status}
    began = {name: fingerprint(value) if value else "" for name, value in pending.items()}
    return idle(parameters, last=last | ({"pendingParameters": began} if began else {}))


def test_what_a_failed_run_began_with_waits(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, dict[str, str], dict[str, str], str | None]] = [
        ("COMPLETE", {"NOTE": "x"}, {"NOTE": "x"}, "update"),
        ("FATAL_ERROR", {"NOTE": "x"}, {"NOTE": "x"}, None),
        ("FATAL_ERROR", {"SIZE": "-"}, {"SIZE": ""}, None),
        # Another value, or one more, was set since.
        ("FATAL_ERROR", {"NOTE": "y"}, {"NOTE": "x"}, "update"),
        ("FATAL_ERROR", {"NOTE": "x"}, {"NOTE": ""}, "update"),
        ("FATAL_ERROR", {"NOTE": "x", "SIZE": "2"}, {"NOTE": "x"}, "deploy"),
        ("FATAL_ERROR", {"NOTE": "x"}, {}, "update"),
        # It was set back, or is not declared.
        ("FATAL_ERROR", {}, {"NOTE": "x"}, None),
        ("FATAL_ERROR", {"NOTE": "x", "ZZ": "1"}, {"NOTE": "x"}, None),
    ]
    for status, parameters, pending, plan in table:
        with subtests.test(status=status, parameters=parameters, pending=pending, plan=plan):
            found = after(status, parameters, **pending)
            assert revalidate_idle(found, V1) == Revalidation(plan)


def test_another_version_and_the_first_deploy_do_not_wait_for_a_failed_run() -> None:
    found = after("FATAL_ERROR", {"NOTE": "x"}, NOTE="x")
    target = {"operator_version": found.spec.operator_version and _reference("first-2")}
    upgraded = found.model_copy(update={"spec": found.spec.model_copy(update=target)})
    assert revalidate_idle(upgraded, version("first-2")).plan == "upgrade"
    last = {"plan": "custom", "uid": "A", "status": "FATAL_ERROR", "parameters": {}}
    first = idle(last=last | {"pendingParameters": fingerprints({"SIZE": "1"})})
    assert revalidate_idle(first, V1).plan == "deploy"


def _reference(name: str) -> Any:
    found = Instance.from_wire(instance(of=name)).spec.operator_version
    assert found is not None
    return found


# What is said of it


def test_a_status_names_what_is_not_in_force() -> None:
    table: list[tuple[dict[str, str], NotInForce | None]] = [
        ({}, None),
        ({"ZZ": "1"}, None),
        ({"NOTE": "x"}, NotInForce(parameters=("NOTE",), plan="update")),
        ({"NOTE": "x", "PORT": "-"}, NotInForce(parameters=("NOTE", "PORT"), plan="custom")),
        ({"SIZE": "2", "PORT": "81"}, NotInForce(parameters=("PORT", "SIZE"))),
    ]
    for parameters, said in table:
        assert not_in_force(idle(parameters), V1) == said


def test_a_status_names_twenty_and_how_many_more() -> None:
    names = [f"P{number:02}" for number in range(25)]
    many = version(parameters=[{"name": name} for name in names])
    said = not_in_force(idle(dict.fromkeys(names, "x")), many)
    assert said == NotInForce(parameters=tuple(names[:20]), parameters_left_out=5, plan="update")


def test_nothing_is_named_while_deleting_or_before_the_first_deploy() -> None:
    wire = instance({"NOTE": "x"}, deleting=True, last_run=last_run())
    assert not_in_force(Instance.from_wire(wire), V1) is None
    assert not_in_force(Instance.from_wire(instance({"NOTE": "x"})), V1) is None


# Whatever happens

OWN = {"A": None, "B": None, "C": "custom", "D": "deploy", "E": "other", "F": "update"}
"""Parameters by their trigger."""
SETS = (
    ("deploy", "update", "upgrade", "custom", "other"),
    ("deploy", "update", "custom", "other"),
    ("deploy", "custom", "other"),
)
NOW = "2026-01-01T00:00:00Z"


def operator(name: str, plans: tuple[str, ...]) -> OperatorVersion:
    declared = [
        {"name": one, "trigger": trigger} if trigger in plans else {"name": one}
        for one, trigger in OWN.items()
    ]
    return version(name, plans=plans, parameters=declared)


@dataclass
class World:
    """One Instance, its users, admission, and a reconciler.

    Attributes:
        versions: The OperatorVersions by name.
        stored: The Instance as it is stored.
        values: The values in force by the rules, not by the record of the Instance.
        of: The OperatorVersion in force likewise.
        scheduled: Runs that the reconciler has scheduled since a user did anything.
    """

    versions: Mapping[str, OperatorVersion]
    stored: JsonObject = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    of: str = ""
    scheduled: int = 0
    uids: int = 0

    @property
    def found(self) -> Instance:
        return Instance.from_wire(self.stored)

    @property
    def version(self) -> OperatorVersion:
        return self.versions[self.stored["spec"]["operatorVersion"]["name"]]

    @property
    def failed(self) -> bool:
        last = self.found.status.last_run
        return last is not None and last.status == ExecutionStatus.FATAL_ERROR

    def create(self) -> None:
        new = instance(of="first-1") | {"status": {}}
        new["spec"]["parameters"] = {}
        self.stored = patched(new, mutated(new, None, *self.versions.values(), uid=self._uid()))
        self.run(fails=False)

    def _uid(self) -> str:
        self.uids += 1
        return f"u{self.uids}"

    def change(self, spec: JsonObject, *, admitted: bool = True) -> None:
        """Have a user change the spec."""
        self.scheduled = 0
        new = {**self.stored, "spec": {**self.stored["spec"], **spec}}
        if admitted:
            decision = mutated(new, self.stored, *self.versions.values(), uid=self._uid())
            if not decision.allowed:
                return
            new = patched(new, decision)
        self.stored = new

    def set(self, values: Mapping[str, str | None], *, admitted: bool = True) -> None:
        merged = {**self.stored["spec"]["parameters"], **values}
        kept = {name: value for name, value in merged.items() if value is not None}
        self.change({"parameters": kept}, admitted=admitted)

    def trigger(self, plan: str, **run: str) -> None:
        self.change({"planExecution": {"planName": plan, **run}})

    def retry(self) -> None:
        last = self.found.status.last_run
        assert last is not None
        self.trigger(last.plan or "", retryOf=last.uid or "")

    # The reconciler

    def _store(self, status: Any) -> None:
        self.stored = {**self.stored, "status": status.to_wire()}

    def begin(self) -> bool:
        """Begin the scheduled run; return whether it may."""
        found = self.found
        plan, entry = found.scheduled.plan_name or "", found.plan_status
        if plan in entry and entry[plan].uid == found.scheduled.uid:
            return True
        if not found.scheduled.uid:
            # The reconciler gives it one.
            run = {**self.stored["spec"]["planExecution"], "uid": self._uid()}
            self.stored = {**self.stored, "spec": {**self.stored["spec"], "planExecution": run}}
            found = self.found
        if revalidate_scheduled(found, self.version).problems:
            self._clear()
            return False
        self._store(begun(found, self.version, NOW))
        self._bring_into_force(plan)
        return True

    def _bring_into_force(self, plan: str) -> None:
        spec, plans = self.stored["spec"], self.version.plans
        name, upgrades = spec["operatorVersion"]["name"], ("upgrade", "update", "deploy")
        upgrade = name != self.of and plan == next(one for one in upgrades if one in plans)
        everything = plan == "deploy" or upgrade
        if everything:
            self.of = name
        elif name != self.of:
            return
        fallback = "update" if "update" in plans else "deploy"
        for one in OWN:
            own = OWN[one] if OWN[one] in plans else fallback
            if everything or own == plan:
                self.values.pop(one, None)
                self.values |= {one: spec["parameters"][one]} if one in spec["parameters"] else {}

    def end(self, *, fails: bool) -> None:
        """End the run in progress and clear it."""
        found = self.found
        entry = found.plan_status[found.scheduled.plan_name or ""]
        if fails:
            entry = fail(entry, "it fails", NOW)
        else:
            entry = entry.model_copy(update={"status": ExecutionStatus.COMPLETE.value})
        self._store(with_entry(found.status, entry))
        self._clear()

    def _clear(self) -> None:
        self.stored = {**self.stored, "spec": {**self.stored["spec"], "planExecution": {}}}

    def look(self) -> Revalidation:
        """Reconcile the idle Instance."""
        found = self.found
        needs = revalidate_idle(found, self.version)
        if needs.plan is not None:
            self.scheduled += 1
            assert self.scheduled <= len(self.version.plans), "plans run for ever"
            run = {"planName": needs.plan, "uid": self._uid(), "status": "NEVER_RUN"}
            self.stored = {**self.stored, "spec": {**self.stored["spec"], "planExecution": run}}
        else:
            self._store(with_not_in_force(found, found.status, self.version))
        return needs

    def run(self, *, fails: bool) -> None:
        """Run what is scheduled, or whatever the Instance needs."""
        if not self.found.scheduled.plan_name:
            self.look()
        if self.found.scheduled.plan_name and self.begin():
            self.end(fails=fails)

    def rest(self) -> Revalidation:
        """Let everything that follows come to its end."""
        while True:
            if self.found.scheduled.plan_name:
                self.run(fails=False)
            needs = self.look()
            if needs.plan is None:
                return needs

    def differing(self) -> list[str]:
        """Return the parameters that are not in force by the rules."""
        stored = self.stored["spec"]["parameters"]
        return sorted(one for one in OWN if stored.get(one) != self.values.get(one))


PLANS = st.sampled_from(["deploy", "update", "custom", "other"])
VALUES = st.dictionaries(
    st.sampled_from(sorted(OWN)), st.sampled_from(["1", "2", None]), min_size=1, max_size=3
)
ACTS = st.one_of(
    st.tuples(st.just("set"), VALUES),
    st.tuples(st.just("past"), VALUES),
    st.tuples(st.just("trigger"), PLANS),
    st.tuples(st.just("restart")),
    st.tuples(st.just("retry")),
    st.tuples(st.just("upgrade"), VALUES),
    st.tuples(st.just("begin")),
    st.tuples(st.just("run"), st.booleans()),
    st.tuples(st.just("look")),
)


def act(world: World, what: str, argument: Any = None) -> None:
    match what:
        case "set":
            world.set(argument)
        case "past":
            world.set(argument, admitted=False)
        case "trigger":
            world.trigger(argument)
        case "restart" if world.found.scheduled.plan_name:
            world.trigger(world.found.scheduled.plan_name or "", uid="again")
        case "retry":
            world.retry()
        case "upgrade":
            other = {"first-1": "first-2"}.get(world.version.metadata.name, "first-1")
            world.change({"operatorVersion": {"name": other}})
        case "begin" if world.found.scheduled.plan_name:
            world.begin()
        case "run":
            world.run(fails=argument)
        case "look" if not world.found.scheduled.plan_name:
            world.look()


@given(st.tuples(st.sampled_from(SETS), st.sampled_from(SETS)), st.lists(ACTS, max_size=14))
def test_whatever_was_accepted_is_in_force_at_rest_or_named(
    plans: tuple[tuple[str, ...], tuple[str, ...]], acts: list[tuple[Any, ...]]
) -> None:
    world = World({f"first-{n}": operator(f"first-{n}", names) for n, names in enumerate(plans, 1)})
    world.create()
    for what, *arguments in acts:
        act(world, what, *arguments)
    needs = world.rest()
    status, differing = world.found.status, world.differing()
    assert status.last_run is not None
    if needs.problems:
        # Two triggers at once came past admission: nothing runs until one is set back.
        assert {one.reason for one in needs.problems} == {"SeveralPlansTriggered"}
    elif not world.failed:
        assert differing == []
        stored = fingerprints(world.stored["spec"]["parameters"])
        assert status.last_run.parameters == stored
    named = status.not_in_force
    assert (list(named.parameters) if named else []) == differing


@given(st.sampled_from(SETS), VALUES, st.booleans())
def test_a_change_runs_each_plan_at_most_once_whatever_fails(
    plans: tuple[str, ...], values: dict[str, str | None], fails: bool
) -> None:
    world = World({"first-1": operator("first-1", plans)})
    world.create()
    world.set(values)
    world.run(fails=fails)
    runs = [world.found.status.last_run]
    while world.look().plan is not None:
        world.run(fails=True)
        runs.append(world.found.status.last_run)
    ran = [run.plan for run in runs if run is not None]
    assert len(ran) == len(set(ran)) <= 2
    if fails and world.failed:
        assert len(ran) == 1
    entries = world.found.plan_status.values()
    assert not any(status_of(entry).running for entry in entries)
