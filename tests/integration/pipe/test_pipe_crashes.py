"""A reconciler that dies in the middle of a Pipe task: one pod, and what was made is kept."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.integration.pipe.pipes import POD, PODS, Pipes, decoded, entry_of, scheduled_pods
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.events import reasons
from tests.support.cluster.quotas import QUOTAS, create_quota
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.waiting import wait_until

PREFIX = "i.deploy.phase1.make.pipe"


@asynccontextmanager
async def one_more_config_map(pipes: Pipes) -> AsyncIterator[None]:
    """Have the API server refuse every ConfigMap but one."""
    namespace = pipes.world.namespace
    held = 0

    async def settled() -> bool:
        nonlocal held
        held = len(await pipes.world.all(CONFIG_MAPS))
        return held > 0

    await wait_until(settled, lambda: "the ConfigMap that every namespace has")
    hard = {"count/configmaps": held + 1}
    await create_quota(pipes.admin, namespace, "few", hard=hard, used=held)
    yield
    await pipes.admin.delete(QUOTAS, "few", namespace=namespace)


async def until_refused(pipes: Pipes, artifact: str) -> None:
    text = f"failed to apply ConfigMap {PREFIX}.{artifact}"
    await pipes.world.until("i", lambda i: text in instances.messages(i, "deploy"), text)


async def test_a_crash_between_copy_and_artifacts_makes_no_second_pod(pipes: Pipes) -> None:
    reconciler = pipes.world.installation.reconciler
    first, second = pipes.file("a", b"A"), pipes.file("b", b"B")
    async with one_more_config_map(pipes):
        await pipes.install(entry_of(first, "a"), entry_of(second, "b"))
        await until_refused(pipes, "b")
        before = [pod["metadata"]["uid"] for pod in await pipes.pods()]
        reconciler.kill()
    reconciler.start()
    await pipes.world.until_complete("i")
    for key, content in (("a", b"A"), ("b", b"B")):
        found = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.{key}")
        assert decoded(found["binaryData"]) == {key: content}
    await pipes.world.until_gone(PODS, POD)
    assert len(before) == 1
    assert await scheduled_pods(pipes) == before
    assert await reasons(pipes.world) == ["PlanStarted", "PlanFinished"]


async def test_a_crash_after_the_artifacts_copies_nothing_again(pipes: Pipes) -> None:
    """All artifacts carry the uid of the execution: only the pod is left to be deleted."""
    reconciler = pipes.world.installation.reconciler
    first, second = pipes.file("a", b"A"), pipes.file("b", b"B")
    async with one_more_config_map(pipes):
        await pipes.install(entry_of(first, "a"), entry_of(second, "b"))
        await until_refused(pipes, "b")
        reconciler.kill()
    made = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.a")
    await pipes.admin.create(CONFIG_MAPS, like(made, f"{PREFIX}.b", b=b"applied before the crash"))
    pipes.file("a", b"another")
    reconciler.start()
    await pipes.world.until_complete("i")
    for key, content in (("a", b"A"), ("b", b"applied before the crash")):
        found = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.{key}")
        assert decoded(found["binaryData"]) == {key: content}
    await pipes.world.until_gone(PODS, POD)
    assert len(await scheduled_pods(pipes)) == 1


def like(made: Json, name: str, **data: bytes) -> Json:
    """Return an object as the same execution would have applied it."""
    kept = ("namespace", "labels", "annotations", "ownerReferences")
    metadata = {key: made["metadata"][key] for key in kept}
    encoded = {key: base64.b64encode(content).decode() for key, content in data.items()}
    wire = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "name": name}}
    return {**wire, "binaryData": encoded}
