"""Tasks, by what the cluster's own controllers tell of them."""

import json
from collections.abc import Sequence

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import as_admin
from tests.support.cluster.resources import JOBS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

JOB = build.template(build.job("{{ .Name }}-job"))


SLOW = build.template(build.deployment("{{ .Name }}-slow", ready_delay="3s"))


def tasked(tasks: Sequence[Json], deploy: Json, templates: Json, **plans: Json) -> Json:
    return build.operator_version(
        "tasked-1", templates=templates, tasks=tasks, plans={"deploy": deploy, **plans}
    )


async def install(world: World, version: Json) -> None:
    done = await world.apply(version, build.instance("i", "tasked-1"))
    assert done.code == 0, done.output


async def trigger(world: World, name: str) -> str:
    """Run a plan by its name, and return the uid of the run."""
    return str(
        instances.scheduled(await world.patch("i", {"planExecution": {"planName": name}}))["uid"]
    )


async def test_a_deletion_takes_the_dependents_along_first(world: World) -> None:
    version = tasked(
        [build.task("apply", "Apply", "web.yaml"), build.task("delete", "Delete", "web.yaml")],
        build.plan({"apply": ["apply"]}),
        templates={"web.yaml": build.template(build.deployment("{{ .Name }}-web"))},
        remove=build.plan({"delete": ["delete"]}),
    )
    await install(world, version)
    await world.until_complete("i")
    await trigger(world, "remove")

    await world.until_complete("i", "remove")

    pods = json.loads(await as_admin(world, "get", "pods,replicasets", "-o=json"))["items"]
    assert pods == []


async def test_a_job_is_created_anew_once_for_each_run_also_over_a_crash(
    world: World, admin: Client
) -> None:
    version = tasked(
        [
            build.task("delete-job", "Delete", "job.yaml"),
            build.task("apply-job", "Apply", "job.yaml"),
            build.task("wait", "Apply", "slow.yaml"),
        ],
        build.plan({"delete": ["delete-job"], "apply": ["apply-job"]}, {"wait": ["wait"]}),
        templates={"job.yaml": JOB, "slow.yaml": SLOW},
    )
    await install(world, version)
    await world.until(
        "i", lambda i: instances.steps(i, "deploy").get("phase1.apply") == "COMPLETE", "a Job"
    )
    first = await world.get(JOBS, "i-job")

    world.installation.reconciler.kill()
    world.installation.reconciler.start()
    await world.until_complete("i")

    assert (await world.get(JOBS, "i-job"))["metadata"]["uid"] == first["metadata"]["uid"]
    uid = await trigger(world, "deploy")
    # The crash comes while the old Job is on its way out, or the new one on its way in.
    await world.until(
        "i", lambda i: instances.entry(i, "deploy").get("uid") == uid, "the second run"
    )
    world.installation.reconciler.kill()
    world.installation.reconciler.start()
    await world.until_complete("i")
    second = await world.get(JOBS, "i-job")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["metadata"]["annotations"]["kudo.dev/last-plan-execution-uid"] == uid
    # The Job controller reports each Job that it works on: two runs, two Jobs.
    desired = {first["metadata"]["uid"], second["metadata"]["uid"]}
    seen: set[str] = set()

    async def reported() -> bool:
        nonlocal seen
        listed = await admin.raw("GET", f"/api/v1/namespaces/{world.namespace}/events")
        about = [event["involvedObject"] for event in listed["items"]]
        seen = {obj["uid"] for obj in about if obj["kind"] == "Job"}
        return seen >= desired

    await wait_until(reported, lambda: f"the events of {desired}; seen: {seen}")
    assert seen == desired
