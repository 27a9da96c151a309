"""Watches that are refused for a while, and storage that goes back: what Instances show of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kubeio.types import JsonObject
from tests.support.apiserver.network.faults import UNHARMED, Fate
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.network import RandomNetwork
from tests.unit.reconciler.lives.observed import INSTANCES
from tests.unit.reconciler.lives.test_scenes import entry, version

DEPLOYMENTS = "/apis/apps/v1/deployments"
Refusal = Callable[[], StatusError]


def forbidden() -> StatusError:
    return StatusError(403, "Forbidden", "deployments.apps is forbidden: no right")


def unavailable() -> StatusError:
    return StatusError(503, "ServiceUnavailable", "no etcd")


@dataclass
class Refusing(RandomNetwork):
    """Has the API server refuse lists and watches of Deployments; counts what else is asked."""

    verbs: tuple[str, ...] = ()
    refusal: Refusal = forbidden
    asked: list[str] = field(default_factory=list)

    def fate(self, request: Request) -> Fate:
        verb = "watch" if request.query.get("watch") else "list"
        if request.path == DEPLOYMENTS and verb in self.verbs:
            return Fate(refused=self.refusal())
        return UNHARMED

    def event_delay(self, plural: str) -> float:
        del plural
        return 0.0


def ready(life: Life) -> JsonObject:
    stored = life.observed.instance("i")
    assert stored is not None
    [found] = [one for one in stored["status"]["conditions"] if one["type"] == "Ready"]
    condition: JsonObject = found
    return condition


def refusing(life: Life, *verbs: str, refusal: Refusal = forbidden) -> Refusing:
    network = Refusing(life.rng, 0.0, verbs=verbs, refusal=refusal)
    life.replicas[0].process.transports[0].network = network
    return network


async def deploy(life: Life) -> None:
    await life.put_version(version(deploy=[["done"]]))
    await life.user.create("i", {})
    await asyncio.sleep(20)


@pytest.mark.parametrize("verbs", [("list", "watch"), ("watch",)])
def test_resources_are_known_again_once_a_right_that_was_missing_at_the_start_is_there(
    verbs: tuple[str, ...],
) -> None:
    async def body(life: Life) -> None:
        network = refusing(life, *verbs)
        await deploy(life)
        assert ready(life)["reason"] == "ResourcesUnknown"
        assert "permission to list and watch deployments.apps" in ready(life)["message"]
        await asyncio.sleep(100)
        assert ready(life)["reason"] == "ResourcesUnknown"
        network.verbs = ()
        await asyncio.sleep(40)
        assert ready(life)["status"] == "True"

    passes(body, "admitted")


@pytest.mark.parametrize("verbs", [("list", "watch"), ("watch",)])
@pytest.mark.parametrize("seconds", [1.0, 10.0, 100.0])
def test_resources_are_known_again_once_a_right_that_was_taken_away_is_back(
    verbs: tuple[str, ...], seconds: float
) -> None:
    async def body(life: Life) -> None:
        network = refusing(life)
        await deploy(life)
        assert ready(life)["status"] == "True"
        network.verbs = verbs
        await life.cut_watches()
        for number in range(5):
            await asyncio.sleep(seconds / 5)
            await life.user.label("i", f"now-{number}")
        assert ready(life)["reason"] == "ResourcesUnknown"
        network.verbs = ()
        await asyncio.sleep(40)
        assert ready(life)["status"] == "True"

    passes(body, "admitted")


def test_a_right_that_stays_missing_writes_no_status_again_and_again() -> None:
    async def body(life: Life) -> None:
        refusing(life, "watch")
        await deploy(life)
        stored = life.observed.instance("i")
        assert stored is not None
        await asyncio.sleep(600)
        assert life.observed.instance("i") == stored

    passes(body, "admitted")


def test_a_list_that_fails_for_a_while_is_known_once_it_answers() -> None:
    async def body(life: Life) -> None:
        network = refusing(life, "list", "watch", refusal=unavailable)
        await deploy(life)
        assert ready(life)["reason"] == "ResourcesUnknown"
        network.verbs = ()
        await asyncio.sleep(40)
        assert ready(life)["status"] == "True"

    passes(body, "admitted")


def test_after_a_restore_of_etcd_instances_are_worked_on_again() -> None:
    """Their resourceVersions are lower than those that were seen before."""

    async def body(life: Life) -> None:
        life.network.calm = True
        storage = life.cluster.server.storage
        await deploy(life)
        backup, first = storage.backup(), entry(life, "deploy")["uid"]
        for number in range(300):
            await life.user.label("i", str(number))
        await life.user.create("j", {})
        await asyncio.sleep(20)
        storage.restore(backup)
        # The API server is started anew, as it has to be then.
        await life.cut_watches()
        await asyncio.sleep(10)
        await life.user.change("i", {"run": {"planName": "deploy"}})
        await asyncio.sleep(20)
        assert entry(life, "deploy")["uid"] != first
        assert entry(life, "deploy")["status"] == "COMPLETE"
        assert ready(life)["status"] == "True"
        assert life.observed.instance("j") is None

    passes(body, "admitted")


TEXT = "x"


@pytest.mark.parametrize(
    "body",
    [
        {"spec": TEXT},
        {"spec": [], "status": []},
        {"spec": {"operatorVersion": TEXT}},
        {"spec": {"operatorVersion": {"name": ["x"]}}},
        {"spec": {"planExecution": TEXT}},
        {"spec": {"planExecution": {"planName": ["x"], "uid": {}}}},
        {"status": {"planStatus": {"deploy": TEXT}}},
        {"status": {"planStatus": [], "lastRun": 3, "conditions": TEXT}},
        {"status": {"lastRun": 3, "planStatus": {"deploy": {"uid": [], "finishedAt": "9"}}}},
        {"status": {"lastRun": {}, "planStatus": {"deploy": {"status": {}, "finishedAt": 9}}}},
    ],
)
def test_an_instance_of_another_shape_does_not_end_the_reconciler_of_all(
    body: JsonObject,
) -> None:
    """Such as one that was stored before its CRD had a schema."""
    identity = {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance"}
    metadata = {"name": "odd", "namespace": "ns", "uid": "odd"}

    async def living(life: Life) -> None:
        life.network.calm = True
        storage = life.cluster.server.storage
        # It is none of what the promises are about.
        followers, storage.listeners[:] = storage.listeners[:], []
        for _ in range(2):
            storage.put(INSTANCES, {**identity, "metadata": metadata, **body})
            await asyncio.sleep(5)
        storage.listeners[:] = followers
        life.observed.broken.clear()
        await deploy(life)
        assert entry(life, "deploy")["status"] == "COMPLETE"
        life.observed.broken.clear()

    passes(living, "admitted")
