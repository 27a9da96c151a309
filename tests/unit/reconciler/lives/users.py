"""What users do in a life, drawn beforehand; no tests of its own.

All is drawn before a life begins, so that a part of it is the beginning of the same life.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal

from kubeio.errors import ApiError
from kubeio.types import JsonObject
from kudo.api import ExecutionStatus, Instance
from kudo.plans.execution import steps_of_entry
from kudo.plans.runs.plan_choice import used_uids
from kudo_reconciler.common.keys import INSTANCES, OPERATOR_VERSIONS
from tests.unit.reconciler.lives.inventory import acts as records
from tests.unit.reconciler.lives.operators import PLANS, TIMEOUTS, operator_version, values

Sort = Literal["admitted", "mutation missing", "webhooks missing", "inventory"]
"""Which changes may come past which of KUDO's webhooks; or a life that is about records."""

NAMES: Final = records.NAMES
FAILED: Final = ExecutionStatus.FATAL_ERROR.value
_STATUSES: Final = (None, "FATAL_ERROR", "COMPLETE")


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens to a life.

    Attributes:
        after: Seconds since the one before.
        what: Name of the method of `Life` that does it.
        arguments: What that is called with.
    """

    after: float
    what: str
    arguments: tuple[Any, ...] = ()


def acts(rng: Random, sort: Sort) -> Iterator[Act]:
    """Draw what happens in a life, without an end."""
    if sort == "inventory":
        yield from (Act(after, what, tuple(rest)) for after, (what, *rest) in records.acts(rng))
    for name in ("v1", "v2"):
        yield Act(0.0, "put_version", (operator_version(rng, name),))
    yield Act(0.0, "create", (NAMES[0], _first_values(rng), {}))
    while True:
        after = rng.choice((0.0, 0.05, 0.3, 1.0, 5.0, 30.0)) * rng.random()
        what, *arguments = _drawn(rng, sort)
        yield Act(after, what, tuple(arguments))


def _first_values(rng: Random) -> dict[str, str]:
    desired = {"NOTE": "n", **values(rng)}
    if desired.get("COUNT") == "many":
        desired["COUNT"] = "1"
    desired["NOTE"] = desired["NOTE"] or "n"
    return {name: value for name, value in desired.items() if value is not None}


def _drawn(rng: Random, sort: Sort) -> tuple[Any, ...]:
    """Return what happens next, and to what."""
    name = rng.choice((NAMES[0], NAMES[0], NAMES[0], NAMES[1]))
    roll = rng.randrange(100)
    if roll < 63:
        return _by_a_user(rng, roll, name)
    if roll < 88:
        return _to_the_reconciler(rng, roll)
    if roll < 92 and sort != "admitted":
        validating = sort == "mutation missing" or rng.random() < 0.5
        return ("install_webhooks", rng.random() < 0.4, validating)
    if roll < 96 and sort == "webhooks missing":
        return _past_the_rules(rng, name)
    return ("change", name, {"parameters": values(rng)})


def _by_a_user(rng: Random, roll: int, name: str) -> tuple[Any, ...]:
    if roll < 18:
        return ("change", name, _edit(rng))
    if roll < 29:
        return ("set", name, {"suspend": rng.choice((True, True, False, None))})
    if roll < 32:
        return ("set", name, _settings(rng))
    if roll < 43:
        return ("retry", name, _retry(rng))
    if roll < 47:
        return ("apply_again", name)
    if roll < 51:
        return ("change", name, {"run": "cancel"})
    if roll < 53:
        return ("change", name, {"run": "clear"})
    if roll < 56:
        return ("delete", name)
    if roll < 61:
        return ("create", name, _first_values(rng), _settings(rng))
    return ("label", name, str(rng.randrange(3)))


def _to_the_reconciler(rng: Random, roll: int) -> tuple[Any, ...]:
    if roll < 72:
        return ("crash", rng.randrange(120))
    if roll < 75:
        return ("hand_over", 5.0 + rng.random() * 10)
    if roll < 80:
        kind = rng.choice(("instances", "operatorversions", "configmaps", "jobs", "deployments"))
        return ("delay_events", kind, rng.choice((0.02, 1.0, 10.0)))
    if roll < 82:
        return ("cut_watches",)
    if roll < 84:
        return ("compact",)
    return ("reach_webhook", rng.random() < 0.5)


def _settings(rng: Random) -> JsonObject:
    """Draw fields of a spec that trigger no plan."""
    timeout, limit = rng.choice((None, None, *TIMEOUTS)), rng.choice((None, 0, 1, 2, 50))
    suspend = rng.choice((None, None, None, True))
    return {"planTimeout": timeout, "historyLimit": limit, "suspend": suspend}


def _retry(rng: Random) -> JsonObject:
    """Draw which run is to be retried, from which step, and how it is asked for."""
    return {
        "of": rng.choice(("failed", "failed", "failed", "failed", "any", "nobody")),
        "at": rng.randrange(20),
        "from": rng.choice((None, None, *range(4), "nowhere.s0")),
        "kept": rng.random() < 0.5,
        "suspend": rng.random() < 0.1,
        "uid": rng.random() < 0.2,
    }


def _past_the_rules(rng: Random, name: str) -> tuple[Any, ...]:
    version = rng.choice(("v1", "v2"))
    match rng.randrange(4):
        case 0:
            return ("put_version", operator_version(rng, version, broken=True))
        case 1:
            return ("delete_version", version)
        case 2:
            plan, state = rng.choice(PLANS), rng.choice(("IN_PROGRESS", "PENDING", "ERROR"))
            return ("leave_behind", name, plan, state)
    return ("change", name, {"run": {"planName": rng.choice(PLANS), "uid": "x"}})


def _edit(rng: Random) -> JsonObject:
    """Draw parameters, the version to use, and the run to ask for; not all of them."""
    edit: JsonObject = {}
    parts = rng.choice(("p", "p", "v", "r", "r", "pv", "pr", "pvr"))
    if "p" in parts:
        edit["parameters"] = values(rng)
    if "v" in parts:
        edit["of"] = rng.choice(("v1", "v2"))
    if "r" in parts:
        run = {
            "planName": rng.choice(PLANS),
            "uid": rng.choice((None, "x", "y", "used")),
            "status": rng.choice(_STATUSES),
        }
        edit["run"] = {key: value for key, value in run.items() if value is not None}
    return edit


def _run_to_retry(instance: Instance, drawn: JsonObject) -> JsonObject | None:
    """Return the request that was drawn, for the runs that there are."""
    entries = [entry for entry in instance.plan_status.values() if entry.uid]
    runs = [(entry.name, entry.uid or "") for entry in entries]
    if drawn["of"] == "failed":
        runs = [(entry.name, entry.uid or "") for entry in entries if entry.status == FAILED]
    else:
        runs += [(record.plan, record.uid) for record in instance.status.history or ()]
    if not runs:
        return None
    plan, uid = runs[drawn["at"] % len(runs)]
    run: JsonObject = {"planName": plan, "retryOf": "nobody" if drawn["of"] == "nobody" else uid}
    begins_at = drawn["from"]
    if isinstance(begins_at, int):
        entry = instance.plan_status.get(plan)
        names = [str(ref) for ref, _ in steps_of_entry(entry)] if entry is not None else []
        begins_at = names[begins_at % len(names)] if names else None
    return run | ({"from": begins_at} if begins_at else {})


@dataclass
class User(records.Hands):
    """Changes Instances and OperatorVersions; what is denied or conflicts is left so.

    Attributes:
        made_up_uids: Whether uids that users make up are unique, as rules that only validate ask.
        past_the_rules: Whether nothing keeps users from using a uid again.
    """

    numbers: "itertools.count[int]"
    made_up_uids: bool = False
    past_the_rules: bool = False
    _kept: dict[str, JsonObject] = field(default_factory=dict)

    async def create(
        self, name: str, parameters: dict[str, str], settings: JsonObject | None = None
    ) -> None:
        spec = {key: value for key, value in (settings or {}).items() if value is not None}
        body = {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Instance",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"operatorVersion": {"name": "v1"}, "parameters": parameters, **spec},
        }
        try:
            await self.client.create(INSTANCES, body)
        except ApiError:
            return

    async def change(self, name: str, edit: JsonObject) -> None:
        try:
            stored = await self.client.get(INSTANCES, name, namespace="ns")
            await self.client.replace(INSTANCES, self._edited(stored, edit))
        except ApiError:
            return

    def _edited(self, stored: JsonObject, edit: JsonObject) -> JsonObject:
        spec = dict(stored["spec"])
        parameters = {**spec.get("parameters", {}), **edit.get("parameters", {})}
        spec["parameters"] = {name: v for name, v in parameters.items() if v is not None}
        if "of" in edit:
            spec["operatorVersion"] = {"name": edit["of"]}
        run = edit.get("run")
        if run == "clear":
            spec["planExecution"] = {}
        elif run == "cancel":
            spec["planExecution"] = {**spec.get("planExecution", {}), "status": "FATAL_ERROR"}
        elif run is not None:
            spec["planExecution"] = run | self._uid(stored, run.get("uid"))
        return {**stored, "spec": spec}

    def _uid(self, stored: JsonObject, desired: str | None) -> JsonObject:
        if desired == "used":
            used = sorted(used_uids(Instance.from_wire(stored)))
            return {"uid": used[0] if used else "z"}
        if desired is not None and self.made_up_uids:
            return {"uid": f"u{next(self.numbers)}"}
        return {}

    async def set(self, name: str, fields: JsonObject) -> None:
        """Set fields of the spec; None removes one."""
        try:
            await self.client.merge_patch(INSTANCES, name, {"spec": fields}, namespace="ns")
        except ApiError:
            return

    async def retry(self, name: str, drawn: JsonObject) -> None:
        """Ask for a retry; one that is kept is sent again and again, as GitOps does it."""
        try:
            stored = await self.client.get(INSTANCES, name, namespace="ns")
        except ApiError:
            return
        run = _run_to_retry(Instance.from_wire(stored), drawn)
        if run is None:
            return
        if drawn["uid"] and self.made_up_uids:
            run["uid"] = f"u{next(self.numbers)}"
        fields: JsonObject = {"planExecution": run}
        if drawn["kept"]:
            self._kept[name] = fields
        await self.set(name, fields | ({"suspend": True} if drawn["suspend"] else {}))

    async def apply_again(self, name: str) -> None:
        await self.set(name, self._kept.get(name, {}))

    async def label(self, name: str, value: str) -> None:
        change = {"metadata": {"labels": {"l": value}}}
        try:
            await self.client.merge_patch(INSTANCES, name, change, namespace="ns")
        except ApiError:
            return

    async def delete(self, name: str) -> None:
        try:
            await self.client.delete(INSTANCES, name, namespace="ns")
        except ApiError:
            return

    async def put_version(self, version: JsonObject) -> None:
        name = version["metadata"]["name"]
        try:
            await self.client.create(OPERATOR_VERSIONS, version)
        except ApiError:
            stored = await self.client.get(OPERATOR_VERSIONS, name, namespace="ns")
            await self.client.replace(OPERATOR_VERSIONS, {**stored, "spec": version["spec"]})

    async def delete_version(self, name: str) -> None:
        try:
            await self.client.delete(OPERATOR_VERSIONS, name, namespace="ns")
        except ApiError:
            return

    async def leave_behind(self, name: str, plan: str, state: str) -> None:
        """Write an entry of a running plan, as the original leaves it when it stops."""
        try:
            stored = await self.client.get(INSTANCES, name, namespace="ns")
            status = stored.get("status") or {}
            entries = status.get("planStatus") or {}
            running = {"IN_PROGRESS", "PENDING", "ERROR"}
            if plan in entries and entries[plan].get("uid"):
                return
            if any(entry.get("status") in running for entry in entries.values()):
                return
            entry = {"name": plan, "uid": f"u{next(self.numbers)}", "status": state}
            changed = {**status, "planStatus": {**entries, plan: entry}}
            await self.client.replace(
                INSTANCES, {**stored, "status": changed}, subresource="status"
            )
        except ApiError:
            return
