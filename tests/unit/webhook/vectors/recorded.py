"""The recorded decisions of KUDO 0.19's admission, as requests and outcomes; no tests of its own.

A `Vector` is one row of tests/golden/admission-vectors.json: the objects to submit and what the
original answered. Denials are named by code (D01 to D24); `DENIALS` says which reason and which
words of the message each of them has here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kudo.api import JsonObject, OperatorVersion

GOLDEN = Path(__file__).parents[3] / "golden" / "admission-vectors.json"

DENIALS: Mapping[str, tuple[str, str]] = {
    "D01": ("PlanUnknown", "does not exist in"),
    "D02": ("ParameterUnknown", "failed to find parameter"),
    "D03": ("ParameterImmutable", "is immutable but was"),
    "D04": ("ImmutableWithoutValue", "was changed to immutable in operator version"),
    "D05": ("ImmutableWithoutValue", "was added in operator version"),
    "D06": ("ParameterRequired", "is required"),
    "D07": ("ParameterInvalid", ""),
    "D08": ("TriggerUnknown", "defined trigger plan"),
    "D09": ("SeveralPlansTriggered", "triggering multiple plans"),
    "D10": ("NoPlanTriggered", "would be triggered by the update"),
    "D11": ("CleanupRunning", "can not be cancelled or overridden"),
    "D12": ("InstanceDeleting", "parameter update and/or upgrade is not allowed"),
    "D13": ("InstanceDeleting", "only 'cleanup' plan can be scheduled"),
    "D14": ("PlanRunning", "an update would trigger a different plan"),
    "D15": ("PlanRunning", "upgrade to new OperatorVersion"),
    "D16": ("PlanBesideChange", "and triggering new plan"),
    "D17": ("PlanBesideChange", "together with a parameter update triggering"),
    "D18": ("PlanRunning", "overriding currently scheduled (or running) plan"),
    "D19": ("PlanRunning", "cancelling currently scheduled (or running) plan"),
    "D20": ("PlanBesideChange", "directly and through parameter update"),
    "D21": ("CleanupNotManual", "only the controller schedules the 'cleanup' plan"),
    "D22": ("NoPlanTriggered", "triggered by an OperatorVersion upgrade"),
    "D23": ("DeployPlanMissing", "couldn't find 'deploy' plan"),
    "D24": ("OperatorVersionNotFound", "does not exist; create it first"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an answer comes to.

    Attributes:
        denial: Code of the denial; empty if the request is allowed.
        code: HTTP code of the denial; 0 if the request is allowed.
        plan: spec.planExecution.planName once the patch is applied; empty if there is none.
        status: spec.planExecution.status likewise.
        uid: "fresh", "kept" as submitted, or "empty".
        parameters: spec.parameters likewise, sorted by name.
        finalizers: metadata.finalizers likewise; None where a row does not record them.
    """

    denial: str = ""
    code: int = 0
    plan: str = ""
    status: str = ""
    uid: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    finalizers: tuple[str, ...] | None = None


def denied(denial: str, code: int = 403) -> Outcome:
    return Outcome(denial=denial, code=code)


def items(parameters: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((parameters or {}).items()))


@dataclass(frozen=True)
class Vector:
    """One recorded decision.

    Attributes:
        name: Where the row stands and what it holds.
        new: The submitted Instance.
        old: The stored Instance; None for a creation.
        before: spec of the OperatorVersion of `old`; empty for a creation.
        after: spec of the OperatorVersion of `new`; empty if it does not exist.
        recorded: What the original answered.
    """

    name: str
    new: JsonObject
    old: JsonObject | None
    before: JsonObject
    after: JsonObject
    recorded: Outcome

    @property
    def create(self) -> bool:
        return self.old is None

    @property
    def upgrade(self) -> bool:
        return self.old is not None and (
            self.old["spec"]["operatorVersion"] != self.new["spec"]["operatorVersion"]
        )

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self.new["metadata"]

    @cached_property
    def stored(self) -> Mapping[str, str]:
        """planExecution as stored; empty if idle."""
        return {} if self.old is None else self.old["spec"].get("planExecution", {})

    @cached_property
    def submitted(self) -> Mapping[str, str]:
        """planExecution as submitted."""
        return self.new["spec"].get("planExecution") or {}

    @property
    def same_run(self) -> bool:
        """Whether the submitted planExecution names the plan and the uid that are stored."""
        return all(self.stored.get(f) == self.submitted.get(f) for f in ("planName", "uid"))

    @property
    def values(self) -> Mapping[str, str]:
        """Parameters as submitted."""
        found: Mapping[str, str] = self.new["spec"]["parameters"]
        return found

    @property
    def _old_values(self) -> Mapping[str, str]:
        found: Mapping[str, str] = {} if self.old is None else self.old["spec"]["parameters"]
        return found

    @cached_property
    def changed(self) -> frozenset[str]:
        """Parameters that were added or got another value."""
        return frozenset(n for n in self.values if self._old_values.get(n) != self.values[n])

    @cached_property
    def removed(self) -> frozenset[str]:
        return frozenset(self._old_values) - frozenset(self.values)

    @property
    def undeclared(self) -> frozenset[str]:
        """Added and changed parameters that the version of `new` does not declare."""
        return self.changed - declared(self.after).keys()

    @property
    def counted(self) -> frozenset[str]:
        """Changed and removed parameters that are declared, and not only since this upgrade."""
        known = declared(self.before).keys() if self.upgrade else declared(self.after).keys()
        return ((self.changed & known) | self.removed) & declared(self.after).keys()

    @property
    def plans(self) -> frozenset[str]:
        """Plans of the version of `new`."""
        return frozenset(self.after.get("plans", ()))

    @property
    def triggers(self) -> frozenset[str]:
        """The plans that the counted parameters trigger by name."""
        definitions = declared(self.after)
        return frozenset(definitions[n].get("trigger", "") for n in self.counted) - {""}

    def immutable(self, names: Iterable[str]) -> bool:
        """Whether one of the parameters is immutable in both versions."""
        specs = [declared(self.before), declared(self.after)]
        return any(all(d.get(n, {}).get("immutable") is True for d in specs) for n in names)

    def allowed(self, run: Mapping[str, str], uid: str) -> Outcome:
        """Return the outcome that the request passes and leaves the run behind."""
        return Outcome(
            plan=run.get("planName", ""),
            status=run.get("status", ""),
            uid=uid,
            parameters=items(self.new["spec"].get("parameters")),
            finalizers=self.recorded.finalizers,
        )


def declared(spec: JsonObject) -> dict[str, JsonObject]:
    """Return the parameter definitions of an OperatorVersion's spec by name."""
    return {parameter["name"]: parameter for parameter in spec.get("parameters") or ()}


# Reading the file


def read(path: Path = GOLDEN) -> tuple[list[Vector], dict[tuple[str, str], OperatorVersion]]:
    """Return all rows of the file, and the OperatorVersions that they refer to."""
    document = json.loads(path.read_bytes())
    specs = {**document["update"]["operatorVersions"], **document["create"]["operatorVersions"]}
    vectors = [
        *_updates(document["update"]),
        *_creations(document["create"]["cases"], specs),
        *_definition_changes(document["definitionChange"]["cases"], specs),
    ]
    return vectors, {("ns", name): _version(name, spec) for name, spec in specs.items()}


def _version(name: str, spec: JsonObject) -> OperatorVersion:
    return OperatorVersion.from_wire({"metadata": {"name": name, "namespace": "ns"}, "spec": spec})


def _instance(version: str, parameters: Any, run: Any) -> JsonObject:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": "i", "namespace": "ns"},
        "spec": {
            "operatorVersion": {"name": version},
            "parameters": parameters or {},
            "planExecution": run or {},
        },
    }


def _updates(section: JsonObject) -> Iterator[Vector]:
    for number, row in enumerate(section["rows"]):
        yield _update(section, dict(zip(section["columns"], row, strict=True)), number)


def _update(section: JsonObject, row: JsonObject, number: int) -> Vector:
    specs = section["operatorVersions"]
    before, after = specs[row["fromOV"]], specs[row["toOV"]]
    stored = section["oldPlanExecution"][row["oldPlanExecution"]]
    unchanged = row["newPlanExecution"] == "unchanged"
    run = stored if unchanged else section["newPlanExecution"][row["newPlanExecution"]]
    old = _instance(row["fromOV"], section["oldParameters"], stored)
    new = _instance(row["toOV"], section["newParameters"][row["newParameters"]], run)
    if row["deleting"]:
        for instance in (old, new):
            instance["metadata"]["deletionTimestamp"] = "2021-07-01T00:00:00Z"
    what = " ".join(str(row[column]) for column in section["columns"][:6])
    vector = Vector(f"update {number}: {what}", new, old, before, after, Outcome())
    return replace(vector, recorded=_recorded_update(vector, row))


def _recorded_update(vector: Vector, row: JsonObject) -> Outcome:
    if not row["allowed"]:
        return denied(row["denial"][:3])
    if not row["patched"]:
        return vector.allowed(vector.submitted, _kept(vector.submitted))
    run = {"planName": row["planName"], "status": row["status"]}
    outcome = vector.allowed(run, row["uid"])
    left = [item for item in outcome.parameters if item[0] not in (row["droppedParams"] or ())]
    return replace(outcome, parameters=tuple(left))


def _kept(run: Mapping[str, str]) -> str:
    return "kept" if run.get("uid") else "empty"


def _creations(cases: list[JsonObject], specs: JsonObject) -> Iterator[Vector]:
    for number, case in enumerate(cases):
        new = _instance(case["ov"], case["in_parameters"], case["in_planExecution"])
        name = f"create {number}: {case['ov']} {case['in_parameters']}"
        yield Vector(name, new, None, {}, specs.get(case["ov"], {}), _recorded_case(case))


def _definition_changes(cases: list[JsonObject], specs: JsonObject) -> Iterator[Vector]:
    for number, case in enumerate(cases):
        old, new = (
            _instance(case[version], {} if value is None else {"p": value}, None)
            for version, value in (("from", case["oldP"]), ("to", case["newP"]))
        )
        name = "definition {}: {from} p={oldP!r} -> {to} p={newP!r}".format(number, **case)
        vector = Vector(name, new, old, specs[case["from"]], specs[case["to"]], Outcome())
        recorded = _recorded_case(case)
        if case.get("result") == "unpatched":
            recorded = replace(vector.allowed({}, "empty"), finalizers=())
        yield replace(vector, recorded=recorded)


def _recorded_case(case: JsonObject) -> Outcome:
    if not case["allowed"]:
        return denied(case["denial"][:3], case["code"])
    return Outcome(
        plan=case.get("planName", ""),
        status=case.get("status", ""),
        uid="fresh" if case.get("hasUID") else "empty",
        parameters=items(case.get("parameters")),
        finalizers=tuple(case.get("finalizers") or ()),
    )
