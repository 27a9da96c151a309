"""Jobs of Job tasks under the real Job controller: how they end, and what ends with their run."""

import json
from typing import Any

from kubeio.resource import JOBS, PODS
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

SLOW = '{{ if eq .Params.SLOW "true" }}10m{{ else }}100ms{{ end }}'


def version(name: str = "v", **annotations: str) -> Json:
    of_node = {f"kwok.kudo.dev/{name.replace('_', '-')}": v for name, v in annotations.items()}
    pod = {
        "metadata": {"annotations": of_node},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }
    text = json.dumps(pod).replace(json.dumps(SLOW), f"'{SLOW}'")
    return build.operator_version(
        name,
        templates={"pod.yaml": text},
        tasks=[build.task("run", "Job", job={"podTemplate": "pod.yaml", "command": ["run"]})],
        parameters=[build.parameter("SLOW", "false", trigger="deploy")],
        plans={"deploy": build.serial(["run"])},
    )


def row(instance: Json) -> Any:
    [phase] = instances.entry(instance, "deploy").get("phases") or [{"steps": [{}]}]
    return (phase["steps"][0].get("tasks") or [{}])[0]


async def jobs(world: World) -> list[Json]:
    return (await world.client.list(JOBS, namespace=world.namespace)).items


def is_running(instance: Json) -> bool:
    return "jobUid" in row(instance) and instances.status_of(instance, "deploy") == "IN_PROGRESS"


async def test_a_program_that_fails_tells_its_exit_code_and_termination_message(
    world: World,
) -> None:
    failing = version(exit_code="3", run_for="100ms", termination_message="no such bucket: nightly")
    done = await world.apply(failing, build.instance("i", "v"))
    assert done.code == 0, done.output
    found = await world.until(
        "i", lambda i: instances.status_of(i, "deploy") == "FATAL_ERROR", "the end of the plan"
    )
    [job] = await jobs(world)
    assert row(found)["message"].endswith(
        f"job {job['metadata']['name']} failed: container main ended with exit code 3: "
        "no such bucket: nightly"
    )


async def test_a_job_goes_with_its_run_and_the_next_one_waits_for_its_pods(world: World) -> None:
    done = await world.apply(version(run_for=SLOW), build.instance("i", "v", SLOW="true"))
    assert done.code == 0, done.output
    first = await world.until("i", is_running, "the first Job")

    # The same plan with another value takes the place of the run.
    await world.patch("i", {"parameters": {"SLOW": "false"}})
    last = await world.until_complete("i")
    assert instances.entry(last, "deploy")["uid"] != instances.entry(first, "deploy")["uid"]
    [job] = await jobs(world)
    assert job["metadata"]["uid"] != row(first)["jobUid"]

    await world.patch("i", {"parameters": {"SLOW": "true"}})
    await world.until("i", is_running, "another Job")
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until(
        "i", lambda i: instances.status_of(i, "deploy") == "FATAL_ERROR", "the end of the plan"
    )
    assert await jobs(world) == []

    async def no_pods() -> bool:
        return not (await world.client.list(PODS, namespace=world.namespace)).items

    await wait_until(no_pods, lambda: "the pods of the Job to go")
