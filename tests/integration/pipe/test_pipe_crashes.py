"""A reconciler that dies in the middle of a Pipe task: one pod, and what was made is kept."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubeio.resource import Resource
from tests.integration.lifecycle.helpers import reasons
from tests.integration.pipe.pipes import POD, PODS, Pipes, decoded, entry_of
from tests.integration.support import CONFIG_MAPS, Json, config_map, messages, wait_until

QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
PREFIX = "i.deploy.phase1.make.pipe"


@asynccontextmanager
async def no_more(pipes: Pipes, what: str, hard: int) -> AsyncIterator[None]:
    """Have the API server refuse what goes beyond a number of objects."""
    namespace = pipes.world.namespace
    quota: Json = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": namespace},
        "spec": {"hard": {f"count/{what}": str(hard)}},
    }
    await pipes.admin.create(QUOTAS, quota)

    async def counted() -> bool:
        found = await pipes.admin.get(QUOTAS, "few", namespace=namespace)
        return "used" in found.get("status", {})

    await wait_until(counted, lambda: "the quota to be in force")
    yield
    await pipes.admin.delete(QUOTAS, "few", namespace=namespace)


async def pod_uids(pipes: Pipes) -> list[str]:
    return [pod["metadata"]["uid"] for pod in await pipes.pods()]


async def until_refused(pipes: Pipes, artifact: str) -> None:
    text = f"failed to apply ConfigMap {PREFIX}.{artifact}"
    await pipes.world.until("i", lambda i: text in messages(i, "deploy"), text)


async def test_a_crash_between_copy_and_artifacts_makes_no_second_pod(pipes: Pipes) -> None:
    reconciler = pipes.world.installation.reconciler
    first, second = pipes.file("a", b"A"), pipes.file("b", b"B")
    # The namespace holds the authority's certificates beside; one more is let in.
    held = len(await pipes.world.all(CONFIG_MAPS))
    async with no_more(pipes, "configmaps", held + 1):
        await pipes.install(entry_of(first, "a"), entry_of(second, "b"))
        await until_refused(pipes, "b")
        before = await pod_uids(pipes)
        reconciler.kill()
    reconciler.start()
    await pipes.world.until_complete("i")
    for key, content in (("a", b"A"), ("b", b"B")):
        found = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.{key}")
        assert decoded(found["binaryData"]) == {key: content}
    await pipes.world.until_gone(PODS, POD)
    assert len(before) == 1
    created = [event for event in await pod_events(pipes) if event["reason"] == "Scheduled"]
    assert [event["involvedObject"]["uid"] for event in created] == before
    assert await reasons(pipes.world) == ["PlanStarted", "PlanFinished"]


async def pod_events(pipes: Pipes) -> list[Json]:
    events = Resource("", "v1", "Event", "events", namespaced=True)
    found = await pipes.world.all(events)
    return [event for event in found if event["involvedObject"]["name"] == POD]


async def test_a_crash_after_the_artifacts_copies_nothing_again(pipes: Pipes) -> None:
    """All artifacts carry the uid of the execution: only the pod is left to be deleted."""
    reconciler = pipes.world.installation.reconciler
    path = pipes.file("a", b"first")
    await pipes.install(entry_of(path, "a"), after=config_map("after", a="{{ .Pipes.a }}"))
    made: list[Json] = []

    async def artifact() -> bool:
        found = await pipes.world.find(CONFIG_MAPS, f"{PREFIX}.a")
        made[:] = [found] if found else []
        return bool(made)

    await wait_until(artifact, lambda: "the artifact")
    reconciler.kill()
    pipes.file("a", b"second")
    reconciler.start()
    await pipes.world.until_complete("i")
    found = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.a")
    assert decoded(found["binaryData"]) == {"a": b"first"}
    assert found["metadata"]["uid"] == made[0]["metadata"]["uid"]
    await pipes.world.until_gone(PODS, POD)
    created = [event for event in await pod_events(pipes) if event["reason"] == "Scheduled"]
    assert len(created) == 1
