"""Scenes in which others write, or the process dies, between two writes of a run."""

import asyncio
from dataclasses import dataclass, field

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.network import RandomNetwork
from tests.unit.reconciler.lives.test_scenes import entry, version

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
CLEAR, STATUS = b'"/spec/planExecution/uid"', "/instances/i/status"


@dataclass
class Slow(RandomNetwork):
    """Holds up writes of a run.

    Attributes:
        seconds: How long, by what is in the path or in the body of the request; each once.
        behind: Seconds that events of Instances take.
    """

    seconds: dict[str | bytes, float] = field(default_factory=dict)
    behind: float = 0.0

    def fate(self, request: Request) -> Fate:
        for mark in list(self.seconds):
            found = mark in request.path if isinstance(mark, str) else mark in request.body
            if found and request.method != "GET":
                return Fate(before=self.seconds.pop(mark))
        return Fate()

    def event_delay(self, plural: str) -> float:
        return self.behind if plural == "instances" else 0.0


def slow(life: Life, seconds: dict[str | bytes, float], behind: float = 0.0) -> None:
    network = Slow(life.rng, 0.0, seconds=seconds, behind=behind)
    life.replicas[0].process.transports[0].network = network


def job(life: Life) -> JsonObject | None:
    return life.observed.server.storage.table(("batch", "jobs")).objects.get(("ns", "job"))


async def ended(life: Life) -> JsonObject:
    """Wait until deploy has its terminal status; return the Instance."""
    while True:
        await asyncio.sleep(0.01)
        stored = life.observed.instance("i")
        assert stored is not None
        entries = (stored.get("status") or {}).get("planStatus") or {}
        if entries.get("deploy", {}).get("status") == "COMPLETE":
            return stored


def test_an_instance_deleted_before_the_clear_of_its_run_goes_though_events_are_late() -> None:
    async def body(life: Life) -> None:
        await life.put_version(version(deploy=[["done"]], cleanup=[["done"]]))
        slow(life, {CLEAR: 1.0}, behind=2.0)
        await life.user.create("i", {})
        stored = await ended(life)
        assert stored["spec"]["planExecution"]["planName"] == "deploy"
        await life.user.delete("i")
        await asyncio.sleep(20)
        assert life.observed.instance("i") is None

    passes(body, "admitted")


def test_a_job_that_is_gone_is_not_made_again_when_the_first_status_conflicts() -> None:
    async def body(life: Life) -> None:
        life.cluster.workloads.outcome = lambda _: Outcome(seconds=0.5)
        await life.put_version(version(deploy=[["apply"]]))
        slow(life, {STATUS: 2.0})
        await life.user.create("i", {})
        await asyncio.sleep(1)
        found = job(life)
        assert found is not None
        assert "conditions" in found["status"]
        await life.user.label("i", "x")
        await life.user.client.delete(JOBS, "job", namespace="ns")
        await asyncio.sleep(20)
        assert entry(life, "deploy")["status"] == "COMPLETE"
        assert list(life.observed.jobs.values()) == [1]

    passes(body, "admitted")


def test_a_job_is_not_deleted_and_made_again_when_the_process_dies_after_its_delete() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        life.cluster.workloads.outcome = lambda _: Outcome(seconds=20)
        await life.put_version(version(deploy=[["delete", "apply"]]))
        await life.user.create("i", {})
        await asyncio.sleep(5)
        assert job(life) is not None
        await life.crash(0)
        await asyncio.sleep(60)
        assert entry(life, "deploy")["status"] == "COMPLETE"
        assert list(life.observed.jobs.values()) == [1]

    passes(body, "admitted")
