"""The recorded admission decisions as requests, and what the webhook and the policy say of them.

A recorded row names a stored Instance and a submitted one. What the webhook decides is computed
from the same library that it runs; what the policy decides is asked of the API server.
"""

import asyncio
import copy
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from kubeio.errors import ApiError
from kudo.admission import AdmissionRequest, Review, VersionKey, mutate, validate
from kudo.api import OperatorVersion
from tests.integration.policies.policies import denied_by
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World

Moment = Literal["scheduled", "begun", "ended"]
"""How far the stored run has come."""
MOMENTS: tuple[Moment, ...] = ("scheduled", "begun", "ended")
HOLD = "example.org/hold"
"""A finalizer that keeps what is being deleted; the reconciler does not know it."""

_VECTORS = Path(__file__).parents[2] / "golden" / "admission-vectors.json"
_RECORDED: Json = json.loads(_VECTORS.read_text(encoding="utf-8"))["update"]
_AT_ONCE = 8
_FRESH = "fresh"


@dataclass(frozen=True)
class Stored:
    """An Instance as the rows expect it in the cluster."""

    version: str
    deleting: bool
    run: str
    moment: Moment

    @property
    def name(self) -> str:
        return "-".join((self.version, self.run, self.moment, "deleting" * self.deleting)).strip(
            "-"
        )

    @property
    def instance(self) -> Json:
        return {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Instance",
            "metadata": {"name": self.name, "finalizers": [HOLD] * self.deleting},
            "spec": {
                "operatorVersion": {"name": self.version},
                "parameters": _RECORDED["oldParameters"],
                "planExecution": self.scheduled,
            },
        }

    @property
    def scheduled(self) -> Json:
        found: Json = _RECORDED["oldPlanExecution"][self.run]
        return found

    @property
    def status(self) -> Json:
        plan, uid = self.scheduled.get("planName"), self.scheduled.get("uid")
        if plan is None or self.moment == "scheduled":
            return {}
        state = "IN_PROGRESS" if self.moment == "begun" else "COMPLETE"
        entry = {"name": plan, "status": state, "uid": uid}
        last = {"plan": plan, "uid": uid, "operatorVersion": {"name": self.version}}
        return {"planStatus": {plan: entry}, "lastRun": last}


@dataclass(frozen=True)
class Row:
    """One recorded decision, on an Instance whose run has come so far."""

    stored: Stored
    to_version: str
    plan_execution: str
    parameters: str

    def submitted(self, old: Json) -> Json:
        """Return the stored object with what the row changes."""
        new = copy.deepcopy(old)
        requested = _RECORDED["newPlanExecution"][self.plan_execution]
        new["spec"] = {
            "operatorVersion": {"name": self.to_version},
            "parameters": _RECORDED["newParameters"][self.parameters],
            "planExecution": self.stored.scheduled if isinstance(requested, str) else requested,
        }
        return new


@dataclass(frozen=True)
class Judged:
    """A request that may reach the policy, with what the validating webhook says of it.

    Attributes:
        row: Where it comes from.
        old: The stored object.
        new: The object to be stored: as submitted, or as the mutating webhook made it.
        mutated: Whether the mutating webhook has seen and passed it.
    """

    row: Row
    old: Json
    new: Json
    mutated: bool

    @cached_property
    def webhook(self) -> str:
        """The reason of the validating webhook's denial, or ""."""
        return validate(Review.of(_request(self.old, self.new)), _versions(self.old)).reason

    async def policy(self, world: World) -> str:
        """Return the reason of the policy's denial, or ""; nothing is stored."""
        try:
            await world.client.replace(INSTANCES, self.new, dry_run=True)
        except ApiError as error:
            if reason := denied_by(error):
                return reason
            raise
        return ""


def operator_versions() -> Iterator[Json]:
    """Yield the OperatorVersions that the rows refer to."""
    for name, spec in _RECORDED["operatorVersions"].items():
        yield {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "OperatorVersion",
            "metadata": {"name": name},
            "spec": spec,
        }


def rows() -> Iterator[Row]:
    """Yield every recorded row; the stored runs have come further from one row to the next."""
    for values, moment in zip(_RECORDED["rows"], itertools.cycle(MOMENTS), strict=False):
        row = dict(zip(_RECORDED["columns"], values, strict=True))
        stored = Stored(row["fromOV"], row["deleting"], row["oldPlanExecution"], moment)
        yield Row(stored, row["toOV"], row["newPlanExecution"], row["newParameters"])


def requests(row: Row, old: Json) -> Iterator[Judged]:
    """Yield the request without a mutating webhook, and with it if it passes one."""
    submitted = row.submitted(old)
    yield Judged(row, old, submitted, mutated=False)
    decision = mutate(Review.of(_request(old, submitted)), _versions(old), fresh_uid=lambda: _FRESH)
    if decision.allowed:
        yield Judged(row, old, _patched(submitted, decision.patch), mutated=True)


async def decided(world: World, judged: Iterable[Judged]) -> list[tuple[Judged, str]]:
    """Return each request with what the policy says of it, a few at once."""
    turn = asyncio.Semaphore(_AT_ONCE)

    async def ask(one: Judged) -> tuple[Judged, str]:
        async with turn:
            return one, await one.policy(world)

    return await asyncio.gather(*map(ask, judged))


def _request(old: Json, new: Json) -> AdmissionRequest:
    metadata = old["metadata"]
    return AdmissionRequest(
        "UPDATE", metadata["namespace"], metadata["name"], new, old, "kudo-user"
    )


def _versions(old: Json) -> dict[VersionKey, OperatorVersion | None]:
    namespace = old["metadata"]["namespace"]
    return {
        (namespace, version["metadata"]["name"]): OperatorVersion.from_wire(version)
        for version in operator_versions()
    }


def _patched(submitted: Json, operations: Iterable[Json]) -> Json:
    new = copy.deepcopy(submitted)
    for operation in operations:
        *parents, last = operation["path"].strip("/").split("/")
        target = new
        for part in parents:
            target = target[part]
        target[last] = operation["value"]
    return new
