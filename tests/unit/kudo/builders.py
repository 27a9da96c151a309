"""Builders that the admission tests share; no tests of its own.

The operator of these tests has the plans deploy, update, upgrade, custom and cleanup, and one
parameter for each way of being declared.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kudo.admission import AdmissionRequest, Decision, Review, mutate, validate
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.plans.runs.last_run import record_of
from tests.support.apiserver.writes.patches import apply_json_patch

PLANS = ("deploy", "update", "upgrade", "custom", "cleanup")
PARAMETERS: tuple[JsonObject, ...] = (
    {"name": "SIZE", "trigger": "deploy", "default": "1"},
    {"name": "PORT", "trigger": "custom", "default": "80"},
    {"name": "NOTE", "default": "none"},
    {"name": "GHOST", "trigger": "nowhere", "default": "0"},
    {"name": "CLASS", "immutable": True, "default": "fast"},
    {"name": "COUNT", "trigger": "deploy", "value-type": "integer", "default": "3"},
    {"name": "TOKEN", "trigger": "deploy", "required": True},
)
VALUES = {"SIZE": "1", "PORT": "80", "CLASS": "fast", "TOKEN": "secret"}


def version(
    name: str = "first-1",
    *,
    plans: Iterable[str] = PLANS,
    parameters: Iterable[JsonObject] = PARAMETERS,
    operator: str = "first",
    upgradable_from: Iterable[str] = (),
    number: str = "1.0.0",
    app: str | None = None,
) -> OperatorVersion:
    return OperatorVersion.from_wire(
        {
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {
                "operator": {"name": operator},
                "version": number,
                "appVersion": app,
                "plans": {plan: {} for plan in plans},
                "parameters": list(parameters),
                "upgradableFrom": [{"name": other} for other in upgradable_from],
            },
        }
    )


def without(name: str) -> tuple[JsonObject, ...]:
    return tuple(p for p in PARAMETERS if p["name"] != name)


def declared(name: str, **fields: Any) -> tuple[JsonObject, ...]:
    """Return the parameters with one of them declared anew."""
    return (*without(name), {"name": name, **fields})


V1 = version()


def instance(
    parameters: Mapping[str, str] | None = None,
    *,
    of: str = "first-1",
    runs: str | None = None,
    uid: str | None = "A",
    status: str | None = "IN_PROGRESS",
    ended: Mapping[str, str] | None = None,
    deleting: bool = False,
    finalizers: Iterable[str] = ("kudo.dev.instance.cleanup",),
    last_run: JsonObject | None = None,
) -> JsonObject:
    """Return an Instance as the API server holds it.

    Args:
        parameters: Values beside VALUES; a value of "-" leaves the parameter out.
        of: Name of the OperatorVersion.
        runs: The plan that spec.planExecution names; it is running unless `ended` has its uid.
        uid: uid of that run; None leaves it out.
        status: status of spec.planExecution; None leaves it out.
        ended: uid of the last, ended run by plan.
        deleting: Whether deletionTimestamp is set.
        finalizers: The finalizers.
        last_run: status.lastRun.
    """
    values = {n: v for n, v in {**VALUES, **(parameters or {})}.items() if v != "-"}
    metadata: JsonObject = {"name": "i", "namespace": "ns", "finalizers": list(finalizers)}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec: JsonObject = {"operatorVersion": {"name": of}, "parameters": values}
    entries: JsonObject = {
        plan: {"name": plan, "uid": ended_uid, "status": "COMPLETE"}
        for plan, ended_uid in (ended or {}).items()
    }
    if runs:
        fields = {"planName": runs, "uid": uid, "status": status}
        spec["planExecution"] = {n: v for n, v in fields.items() if v is not None}
        entries.setdefault(runs, {"name": runs, "uid": uid or "", "status": "IN_PROGRESS"})
    found: JsonObject = {"planStatus": entries}
    if last_run is not None:
        found["lastRun"] = last_run
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": metadata,
        "spec": spec,
        "status": found,
    }


def failed(
    parameters: Mapping[str, str] | None = None,
    *,
    plan: str = "deploy",
    uid: str = "A",
    of: OperatorVersion = V1,
    last: JsonObject | None = None,
) -> JsonObject:
    """Return an idle Instance whose last run failed; arguments as for `instance`.

    Args:
        parameters: Values that it ran with.
        plan: Plan of that run.
        uid: uid of that run.
        of: The OperatorVersion.
        last: status.lastRun of the run before.
    """
    name = of.metadata.name
    begins = Instance.from_wire(instance(parameters, of=name, runs=plan, uid=uid, last_run=last))
    record = record_of(begins, of).to_wire() | {"status": "FATAL_ERROR"}
    found = instance(parameters, of=name, last_run=record)
    found["status"]["planStatus"] = {plan: {"name": plan, "uid": uid, "status": "FATAL_ERROR"}}
    return found


def with_run(found: JsonObject, **run: Any) -> JsonObject:
    """Return the Instance with another planExecution; a field of None is left out."""
    fields = {"from" if n == "from_step" else n: v for n, v in run.items() if v is not None}
    return {**found, "spec": {**found["spec"], "planExecution": fields}}


def review(new: JsonObject, old: JsonObject | None, user: str = "") -> Review:
    operation: Any = "CREATE" if old is None else "UPDATE"
    return Review.of(AdmissionRequest(operation, "ns", "i", new, old, user))


def mutated(
    new: JsonObject,
    old: JsonObject | None,
    *versions: OperatorVersion,
    uid: str = "fresh",
    user: str = "",
) -> Decision:
    """Return what the mutating route decides; without versions the operator is V1."""
    return mutate(review(new, old, user), _by_key(versions), fresh_uid=lambda: uid)


def validated(
    new: JsonObject, old: JsonObject | None, *versions: OperatorVersion, user: str = ""
) -> Decision:
    """Return what the validating route decides; without versions the operator is V1."""
    return validate(review(new, old, user), _by_key(versions))


def stored(
    new: JsonObject, old: JsonObject | None, *versions: OperatorVersion, user: str = ""
) -> JsonObject:
    """Return the spec that is stored once both moments of admission have passed."""
    decision = mutated(new, old, *versions, user=user)
    assert decision.problems == ()
    final = patched(new, decision)
    assert validated(final, old, *versions, user=user).problems == ()
    found: JsonObject = final["spec"]
    return found


def _by_key(
    versions: tuple[OperatorVersion, ...],
) -> dict[tuple[str, str], OperatorVersion | None]:
    return {("ns", v.metadata.name): v for v in versions or (V1,)}


def patched(submitted: JsonObject, decision: Decision) -> JsonObject:
    """Return the submitted object with the patch of the decision applied."""
    assert {operation["op"] for operation in decision.patch} <= {"add"}
    found: JsonObject = apply_json_patch(submitted, decision.patch)
    return found


def trigger(plan: str, uid: str = "fresh") -> JsonObject:
    return {"planName": plan, "uid": uid, "status": "NEVER_RUN"}
