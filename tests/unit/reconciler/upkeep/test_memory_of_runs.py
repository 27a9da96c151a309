"""What a run has applied is not applied again after a restart of the process."""

import asyncio
import json

from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver import status
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, STRICT, Scene, Shaped, play
from tests.unit.reconciler.tenancy.test_unwatched_kinds import ACCOUNT, create_account

JOB_SECONDS = 60.0
DIGITS = 8


def operator(*kinds: str) -> JsonObject:
    """Return an OperatorVersion with one task: objects of the core group by kind, and a Job."""
    objects = [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"o{number}"}}
        for number, kind in enumerate(kinds)
    ]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {}}
    return build.stored_version(
        tasks=[{"name": "apply", "kind": "Apply", "spec": {"resources": ["all"]}}],
        templates={"all": "\n---\n".join(map(json.dumps, [*objects, job]))},
        plans={"deploy": build.serial(["apply"])},
    )


def applied(scene: Scene) -> list[str]:
    """Return the names of the objects that were applied, in order."""
    sent = [one for one in scene.network.seen if one.method == "PATCH"]
    kinds = ("configmaps", "secrets", "jobs")
    return [one.path.split("/")[-1] for one in sent if one.path.split("/")[-2] in kinds]


def task(scene: Scene) -> JsonObject:
    step = scene.entry("i", "deploy")["phases"][0]["steps"][0]
    found: JsonObject = step["tasks"][0]
    return found


async def begin(scene: Scene, *kinds: str) -> None:
    """Have the plan wait for its Job; all has been applied."""
    scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=JOB_SECONDS)
    await scene.life.put_version(operator(*kinds))
    await scene.life.user.create("i", {})
    await asyncio.sleep(5)
    assert task(scene)["status"] == "IN_PROGRESS"


async def restart(scene: Scene) -> None:
    """Have another process take over; what was sent before is forgotten."""
    await scene.life.crash(0)
    await asyncio.sleep(0.01)
    scene.network.seen.clear()
    await asyncio.sleep(2 * JOB_SECONDS)


def test_what_is_unchanged_is_not_sent_again_after_a_restart() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, "ConfigMap", "ConfigMap")
        assert applied(scene) == ["o0", "o1", "job"]
        assert len(task(scene)["applied"]) == 3 * DIGITS
        await restart(scene)
        assert applied(scene) == []
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert "applied" not in task(scene)

    play(body)


def test_what_was_edited_or_deleted_meanwhile_is_sent_again_and_nothing_else() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, "ConfigMap", "ConfigMap", "ConfigMap")
        await scene.admin.merge_patch(CONFIG_MAPS, "o0", {"data": {"a": "b"}}, namespace="ns")
        await scene.admin.delete(CONFIG_MAPS, "o2", namespace="ns")
        await restart(scene)
        assert applied(scene) == ["o0", "o2"]
        assert scene.stored(CONFIG_MAPS, "o2") is not None
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    play(body)


def test_a_secret_has_no_digits_and_is_sent_again() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, "Secret", "ConfigMap")
        assert task(scene)["applied"][:DIGITS] == "-" * DIGITS
        await restart(scene)
        assert applied(scene) == ["o0"]

    play(body)


def test_a_task_with_more_than_a_hundred_objects_has_no_digits() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, *["ConfigMap"] * 100)
        assert "applied" not in task(scene)

    play(body)


def test_kinds_that_are_not_watched_are_read_as_the_account() -> None:
    async def body(scene: Scene) -> None:
        await create_account(scene)
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=JOB_SECONDS)
        await scene.life.put_version(operator("ConfigMap"))
        await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})
        await asyncio.sleep(5)
        await restart(scene)
        assert applied(scene) == []
        (read,) = scene.network.sent("GET", "o0")
        assert read.user == f"system:serviceaccount:ns:{ACCOUNT}"

    play(body, STRICT)


class Failing(Shaped):
    """Refuses to apply the Job."""

    def fate(self, request: Request) -> Fate:
        if request.method == "PATCH" and request.path.endswith("/job"):
            return Fate(refused=status.internal_error("not now"))
        return super().fate(request)


def test_a_task_that_is_retried_sends_what_it_has_applied_only_once() -> None:
    async def main(life: Life) -> None:
        network = Failing(life.rng, 0.0)
        life.network = network
        life.replicas[0].process.transports[0].network = network
        admin, _ = life.cluster.client()
        scene = Scene(life, network, admin)
        await life.put_version(operator("ConfigMap"))
        await life.user.create("i", {})
        await asyncio.sleep(60)
        assert task(scene)["status"] == "ERROR"
        assert applied(scene).count("o0") == 1
        assert task(scene)["applied"].endswith("-" * DIGITS)
        await life.crash(0)
        await asyncio.sleep(60)
        assert applied(scene).count("o0") == 1

    passes(main, "admitted")
