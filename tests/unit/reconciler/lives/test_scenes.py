"""Scenes of lives that broke a promise once."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver import status
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.faults import UNHARMED, Fate
from tests.support.apiserver.server import Request
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.network import RandomNetwork

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
JOB = '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {}}'
TASKS: list[JsonObject] = [
    {"name": "done", "kind": "Dummy", "spec": {"done": True}},
    {"name": "fails", "kind": "Dummy", "spec": {"wantErr": True}},
    {"name": "delete", "kind": "Delete", "spec": {"resources": ["job.yaml"]}},
    {"name": "apply", "kind": "Apply", "spec": {"resources": ["job.yaml"]}},
]


def version(**plans: list[list[str]]) -> JsonObject:
    """Return an OperatorVersion whose plans have steps of these tasks."""
    return build.stored_version(
        tasks=TASKS,
        templates={"job.yaml": JOB},
        plans={name: build.serial(*steps) for name, steps in plans.items()},
    )


@dataclass
class Refusing(RandomNetwork):
    """Has the API server refuse some requests."""

    refused: Callable[[Request], bool] = lambda _: False

    def fate(self, request: Request) -> Fate:
        if self.refused(request):
            return Fate(refused=status.internal_error("not now"))
        return UNHARMED


def entry(life: Life, name: str) -> JsonObject:
    stored = life.observed.instance("i")
    assert stored is not None
    found: JsonObject = stored["status"]["planStatus"][name]
    return found


def events(life: Life) -> list[tuple[str, str]]:
    return sorted((run, what) for _, run, what in life.observed.events)


def test_what_is_needed_after_a_run_is_said_by_the_version_as_it_is_then() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        life.cluster.workloads.outcome = lambda _: Outcome(seconds=20)
        edited = version(deploy=[["apply"]])
        needing = version(deploy=[["apply"]])
        needing["spec"]["parameters"] = [{"name": "NOTE", "required": True}]
        await life.put_version(needing)
        await life.user.create("i", {"NOTE": "a"})
        await asyncio.sleep(10)
        await life.put_version(edited)
        await life.user.change("i", {"parameters": {"NOTE": None}})
        await asyncio.sleep(60)
        assert entry(life, "deploy")["status"] == "COMPLETE"
        stored = life.observed.instance("i")
        assert stored is not None
        assert [(one["type"], one["status"]) for one in stored["status"]["conditions"]] == [
            ("Ready", "True")
        ]

    passes(body, "webhooks missing")


def test_a_run_whose_version_goes_with_its_instance_has_its_end_event() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        await life.put_version(version(deploy=[["done"]], cleanup=[["fails"]]))
        await life.user.create("i", {})
        await asyncio.sleep(10)
        await life.user.delete("i")
        await asyncio.sleep(10)
        await life.user.delete_version("v1")
        await asyncio.sleep(60)
        assert life.observed.instance("i") is None
        assert [what for _, what in events(life)].count("finished") == 2

    passes(body, "webhooks missing")


def test_a_run_whose_cleanup_plan_is_gone_has_its_end_event() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        await life.put_version(version(deploy=[["done"]], cleanup=[["fails"]]))
        await life.user.create("i", {})
        await asyncio.sleep(10)
        await life.user.delete("i")
        await asyncio.sleep(10)
        await life.put_version(version(deploy=[["done"]]))
        await asyncio.sleep(60)
        assert life.observed.instance("i") is None
        assert [what for _, what in events(life)].count("finished") == 2

    passes(body, "webhooks missing")


async def replaced_without_events(life: Life) -> tuple[Refusing, str]:
    """Schedule a run in the place of one that fails, while no event can be written.

    Returns:
        The network that refuses events, and the uid of the run that is replaced.
    """
    network = Refusing(life.rng, 0.0)
    life.replicas[0].process.transports[0].network = network
    await life.put_version(version(deploy=[["done"], ["fails"]]))
    await life.user.create("i", {})
    await asyncio.sleep(10)
    network.refused = lambda request: request.path.endswith("/events")
    await life.user.change("i", {"run": {"planName": "deploy", "uid": "x"}})
    return network, entry(life, "deploy")["uid"]


def test_a_run_waits_for_the_end_event_of_the_one_that_it_replaces() -> None:
    async def body(life: Life) -> None:
        network, before = await replaced_without_events(life)
        await asyncio.sleep(2)
        assert entry(life, "deploy")["uid"] == before
        network.refused = lambda _: False
        await asyncio.sleep(10)
        assert entry(life, "deploy")["uid"] != before
        assert (before, "finished") in events(life)

    passes(body, "admitted")


def test_a_run_does_not_wait_long_for_an_event_that_cannot_be_written() -> None:
    async def body(life: Life) -> None:
        _, before = await replaced_without_events(life)
        await asyncio.sleep(7)
        assert entry(life, "deploy")["uid"] != before

    passes(body, "admitted")


def test_a_delete_that_fails_does_not_take_away_what_the_next_task_makes() -> None:
    async def body(life: Life) -> None:
        network = Refusing(life.rng, 0.0)
        life.replicas[0].process.transports[0].network = network
        life.cluster.workloads.outcome = lambda _: Outcome(seconds=20)
        left = [True]
        network.refused = lambda request: (
            request.path.endswith("/jobs/job") and bool(left and left.pop())
        )
        await life.put_version(version(deploy=[["delete", "apply"]]))
        await life.user.create("i", {})
        await asyncio.sleep(60)
        assert entry(life, "deploy")["status"] == "COMPLETE"
        assert list(life.observed.jobs.values()) == [1]

    passes(body, "admitted")


def test_a_delete_that_waits_is_not_run_again_after_what_the_next_task_made() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        life.cluster.workloads.outcome = lambda _: Outcome(seconds=20)
        held: JsonObject = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "held"},
        }
        found = version(deploy=[["delete", "apply"]])
        spec = found["spec"]
        spec["templates"]["held.yaml"] = json.dumps(held)
        spec["tasks"] = [
            {"name": "delete", "kind": "Delete", "spec": {"resources": ["held.yaml", "job.yaml"]}},
            {"name": "apply", "kind": "Apply", "spec": {"resources": ["job.yaml"]}},
        ]
        metadata = {**held["metadata"], "namespace": "ns", "finalizers": ["example.com/held"]}
        await life.user.client.create(CONFIG_MAPS, {**held, "metadata": metadata})
        await life.put_version(found)
        await life.user.create("i", {})
        await asyncio.sleep(10)
        assert entry(life, "deploy")["status"] == "IN_PROGRESS"
        await life.crash(0)
        await asyncio.sleep(60)
        await life.user.client.merge_patch(
            CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, namespace="ns"
        )
        await asyncio.sleep(60)
        assert entry(life, "deploy")["status"] == "COMPLETE"
        assert list(life.observed.jobs.values()) == [1]

    passes(body, "admitted")


def test_the_record_of_a_replaced_run_stays_when_the_next_one_goes_on() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        await life.put_version(version(deploy=[["done"], ["fails"]]))
        await life.user.create("i", {})
        await asyncio.sleep(10)
        before = entry(life, "deploy")["uid"]
        await life.user.change("i", {"run": {"planName": "deploy", "uid": "x"}})
        await asyncio.sleep(10)
        assert entry(life, "deploy")["uid"] != before
        stored = life.observed.instance("i")
        assert stored is not None
        [record] = stored["status"]["history"]
        assert (record["uid"], record["reason"]) == (before, "PlanSuperseded")

    passes(body, "admitted")
