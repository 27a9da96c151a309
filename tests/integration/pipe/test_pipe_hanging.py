"""A copy that hangs: other phases go on, and whatever ends the run ends it at once."""

import asyncio
import contextlib
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.integration.pipe.pipes import (
    POD,
    PODS,
    SLOW,
    Kubelet,
    Pipes,
    entry_of,
    make_ready,
    scheduled_pods,
)
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import delete, edit
from tests.support.cluster.events import ends_of
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

ARTIFACT = "i.deploy.phase1.make.pipe.a"
COPYING = f"copying files from pod {POD}"


def version(pipes: Pipes, **plans: Json) -> Json:
    """Return a version that copies a file beside a phase of two steps."""
    file = entry_of(pipes.file("a", b"x"), "a")
    beside = {"first": ["web"], "second": ["config"]}
    return build.operator_version(
        "v",
        templates={
            "pod.yaml": build.template(pipes.pod()),
            "web.yaml": build.template(build.deployment("web")),
            "config.yaml": build.template(build.config_map("config", a="b")),
        },
        tasks=[
            {"name": "pipe", "kind": "Pipe", "spec": {"pod": "pod.yaml", "pipe": [file]}},
            {"name": "web", "kind": "Apply", "spec": {"resources": ["web.yaml"]}},
            {"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}},
            build.dummy("nothing", done=True),
        ],
        plans={"deploy": build.plan({"make": ["pipe"]}, beside, strategy="parallel"), **plans},
    )


async def until_copying(pipes: Pipes, uid: str = "") -> str:
    """Wait until a run copies and its other phase has ended; return its uid."""

    def copies(instance: Json) -> bool:
        return (
            COPYING in instances.messages(instance, "deploy")
            and instances.steps(instance, "deploy").get("phase2.second") == "COMPLETE"
            and instances.entry(instance, "deploy").get("uid")
            == (uid or instances.scheduled(instance)["uid"])
        )

    found = await pipes.world.until("i", copies, "a copy beside a phase that has ended")
    assert instances.steps(found, "deploy")["phase1.make"] == "IN_PROGRESS"
    return str(instances.scheduled(found)["uid"])


async def copying(pipes: Pipes, **plans: Json) -> str:
    """Create an Instance whose copy hangs; return the uid of its run."""
    await pipes.world.apply(version(pipes, **plans), build.instance("i", "v"))
    return await until_copying(pipes)


@asynccontextmanager
async def executions(world: World) -> AsyncIterator[dict[str, set[str]]]:
    """Note by which executions each ConfigMap was written, at any time."""
    seen: defaultdict[str, set[str]] = defaultdict(set)

    async def watch(since: str) -> None:
        stream = world.client.watch(
            CONFIG_MAPS, namespace=world.namespace, resource_version=since, timeout_seconds=600
        )
        async with contextlib.aclosing(stream):
            async for event in stream:
                metadata: dict[str, Any] = event.object["metadata"]
                uid = (metadata.get("annotations") or {}).get("kudo.dev/last-plan-execution-uid")
                if event.type != "BOOKMARK":
                    seen[metadata["name"]].add(uid or "")

    listed = await world.client.list(CONFIG_MAPS, namespace=world.namespace)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch(listed.resource_version))
        yield seen
        task.cancel()


async def copy_another(pipes: Pipes) -> None:
    """Copy a file of another Instance; what hung before has had its answer by then."""
    await pipes.install(entry_of(pipes.file("b", b"y"), "b"), name="other")
    await pipes.world.until_complete("other")


async def test_a_phase_beside_it_ends_and_is_recorded_while_it_hangs(
    pipes: Pipes, kubelet: Kubelet
) -> None:
    with kubelet.paused():
        uid = await copying(pipes)

    done = await pipes.world.until_complete("i")

    assert instances.entry(done, "deploy")["uid"] == uid
    assert await pipes.world.find(CONFIG_MAPS, ARTIFACT) is not None


async def test_a_cancel_ends_the_run_while_it_hangs_and_nothing_is_sent_after_it(
    pipes: Pipes, kubelet: Kubelet
) -> None:
    async with executions(pipes.world) as seen:
        with kubelet.paused():
            uid = await copying(pipes)
            await pipes.world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
            await pipes.world.until_failed("i")
            await pipes.world.until_gone(PODS, POD)
            told = await ends_of(pipes.world, uid)
        await copy_another(pipes)

        assert told == ["Execution of plan deploy finished with status FATAL_ERROR"]
        assert ARTIFACT not in seen


async def test_a_restart_replaces_the_run_while_it_hangs_and_nothing_of_it_is_sent_after_it(
    pipes: Pipes, kubelet: Kubelet
) -> None:
    async with executions(pipes.world) as seen:
        with kubelet.paused():
            first = await copying(pipes)
            run = {"planName": "deploy", "uid": "other"}
            restarted = await edit(pipes.world, "i", {"spec": {"planExecution": run}})
            second = instances.scheduled(restarted)["uid"]
            await until_copying(pipes, second)
            told = await ends_of(pipes.world, first)
        done = await pipes.world.until_complete("i")
        await copy_another(pipes)

        assert second != first
        assert told == ["Execution of plan deploy was superseded by another one"]
        assert instances.entry(done, "deploy")["uid"] == second
        assert seen[ARTIFACT] == {second}


async def test_a_deletion_is_over_while_it_hangs_and_nothing_is_sent_after_it(
    pipes: Pipes, kubelet: Kubelet
) -> None:
    async with executions(pipes.world) as seen:
        with kubelet.paused():
            await copying(pipes)
            await delete(pipes.world)
            await pipes.world.until_gone(INSTANCES, "i")
            await pipes.world.until_gone(PODS, POD)
        await copy_another(pipes)

        assert ARTIFACT not in seen


async def test_a_cleanup_is_over_while_the_copy_of_the_run_before_it_hangs(
    pipes: Pipes, kubelet: Kubelet
) -> None:
    async with executions(pipes.world) as seen:
        with kubelet.paused():
            uid = await copying(pipes, cleanup=build.plan({"nothing": ["nothing"]}))
            await delete(pipes.world)
            await pipes.world.until_gone(INSTANCES, "i")
            told = await ends_of(pipes.world, uid)
        await copy_another(pipes)

        assert told == ["Execution of plan deploy finished with status FATAL_ERROR"]
        assert ARTIFACT not in seen


async def test_a_copy_that_ends_while_the_reconciler_stops_is_recorded_by_it(
    pipes: Pipes, kubelet: Kubelet
) -> None:
    reconciler = pipes.world.installation.reconciler

    async def draining() -> bool:
        return (await asyncio.to_thread(reconciler.get, "/readyz"))[0] == 503

    async def ended() -> bool:
        return reconciler.process is not None and not reconciler.process.alive

    file = entry_of(pipes.file("a", b"x"), "a")
    with kubelet.paused():
        await pipes.install(file, after=build.config_map("after", a="b"))
        await pipes.world.until("i", lambda i: COPYING in instances.messages(i, "deploy"), COPYING)
        reconciler.send_signal(signal.SIGTERM)
        await wait_until(draining, lambda: "the reconciler to stop")
    await wait_until(ended, lambda: "the end of the reconciler")
    stopped = await pipes.world.instance("i")
    reconciler.start()
    await pipes.world.until_complete("i")

    assert instances.status_of(stopped, "deploy") == "IN_PROGRESS"
    assert instances.steps(stopped, "deploy") == {
        "phase1.make": "COMPLETE",
        "phase2.use": "PENDING",
    }
    assert len(await scheduled_pods(pipes)) == 1


async def test_a_copy_on_record_is_not_made_again_after_a_crash(pipes: Pipes) -> None:
    reconciler = pipes.world.installation.reconciler
    gate = {**pipes.pod(**SLOW), "metadata": {"name": "gate", "annotations": SLOW}}
    gate["spec"]["containers"] = [{"name": "main", "image": "busybox"}]
    made = pipes.version("v", [entry_of(pipes.file("a", b"x"), "a")], after=gate)
    made["spec"]["plans"]["deploy"] = build.plan({"make": ["pipe", "after"]})

    await pipes.world.apply(made, build.instance("i", "v"))
    await pipes.world.until("i", copied, "the record of the copy")
    reconciler.kill()
    await pipes.admin.delete(CONFIG_MAPS, ARTIFACT, namespace=pipes.world.namespace)
    reconciler.start()
    await make_ready(pipes, await pipes.world.get(PODS, "gate"))
    await pipes.world.until_complete("i")

    assert await pipes.world.find(CONFIG_MAPS, ARTIFACT) is None
    assert len(await scheduled_pods(pipes)) == 1


def copied(instance: Json) -> bool:
    return instances.tasks_of(instance, "deploy").get("make.pipe", {}).get("status") == "COMPLETE"
