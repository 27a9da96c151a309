"""What `--wait` and `plan status` say of plans that wait, fail or leave something out."""

from pathlib import Path
from typing import Any

from tests.integration.cli.packages import write_package
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.world import World


async def install(world: World, folder: Path, *objects: Json, argv: tuple[str, ...] = ()) -> Done:
    """Install a package that applies objects in one step, as instance `web`, and wait."""
    package = write_package(
        folder / "shop",
        name="shop",
        operatorVersion="0.1.0",
        templates={"app": build.template(*objects)},
        tasks=[{"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}}],
        plans={"deploy": build.plan({"app": ["app"]}), "unused": build.plan({"app": ["app"]})},
    )
    return await world.kudo("install", str(package), "--instance", "web", "--wait", *argv)


def stateful_set(image: str) -> Json:
    spec: dict[str, Any] = build.deployment("db")["spec"]
    spec["template"]["spec"]["containers"][0]["image"] = image
    body = {"metadata": {"name": "db"}, "spec": {**spec, "serviceName": "db"}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", **body}


async def test_a_job_that_fails_ends_the_wait_with_pod_exit_code_and_event(
    world: World, tmp_path: Path
) -> None:
    done = await install(world, tmp_path, build.job("init", exit_code=3))

    assert done.code == 6
    start = f"instance {world.namespace}/web: plan deploy ended with FATAL_ERROR at "
    assert start in done.stderr
    assert 'job "init" has failed terminally: Job has reached the spec' in done.stderr
    assert f"pod {world.namespace}/init-" in done.stderr
    assert "container main: Error: exit code 3; see its log: kubectl logs init-" in done.stderr
    assert "Warning event of Job init" in done.stderr
    assert "BackoffLimitExceeded: Job has reached the specified backoff limit" in done.stderr


async def test_a_pod_that_gets_no_image_is_named_by_timeout_and_status(
    world: World, tmp_path: Path
) -> None:
    argv = ("--wait-time", "8")
    done = await install(world, tmp_path, stateful_set("never-pulls"), argv=argv)

    assert done.code == 7
    cause = f"pod {world.namespace}/db-0: container main: ImagePullBackOff: image"
    assert cause in done.stderr.rpartition("timed out waiting for the condition after 8s: ")[2]
    status = await world.kudo("plan", "status", "--instance", "web")
    assert status.code == 0, status.output
    assert "Step app [IN_PROGRESS] (statefulset" in status.stdout
    assert cause in status.stdout
    assert f"kubectl delete pod db-0 -n {world.namespace}" in status.stdout
    assert " event of Pod db-0: " in status.stdout or " event of StatefulSet db: " in status.stdout
    assert "└── Never run: unused\n" in status.stdout
    everything = await world.kudo("plan", "status", "--instance", "web", "--all")
    assert "Plan unused (serial strategy) [NOT ACTIVE]\n" in everything.stdout
    assert " event of " not in everything.stdout


async def test_a_field_that_is_left_out_is_told_when_the_plan_is_complete(
    world: World, tmp_path: Path
) -> None:
    web = build.deployment("web")
    web["spec"]["replica"] = 2

    done = await install(world, tmp_path, web)

    assert done.code == 0, done.output
    warning = done.stderr.rpartition("Warning events of this run:\n")[2]
    assert warning.startswith("  UnknownField: ")
    assert "spec.replica" in warning
