"""Tasks, by what the cluster's own controllers and the metrics of the reconciler tell of them."""

import json
from collections.abc import Mapping, Sequence

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import as_admin
from tests.support.cluster.events import reasons
from tests.support.cluster.resources import JOBS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

CONFIG = build.template(build.config_map("{{ .Name }}-config", a="b"))


JOB = build.template(build.job("{{ .Name }}-job"))


SLOW = build.template(build.deployment("{{ .Name }}-slow", ready_delay="3s"))


NEVER = build.template(build.deployment("{{ .Name }}-never", ready_delay="1h"))


ALL_TEMPLATES = {"config.yaml": CONFIG, "job.yaml": JOB, "slow.yaml": SLOW, "never.yaml": NEVER}


def tasked(
    tasks: Sequence[Json],
    deploy: Json,
    parameters: Sequence[Json] = (),
    templates: Mapping[str, str] = ALL_TEMPLATES,
    **plans: Json,
) -> Json:
    return build.operator_version(
        "tasked-1",
        templates=templates,
        tasks=tasks,
        plans={"deploy": deploy, **plans},
        parameters=parameters,
    )


async def install(world: World, version: Json, **parameters: str) -> None:
    done = await world.apply(version, build.instance("i", "tasked-1", **parameters))
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
        templates={**ALL_TEMPLATES, "job.yaml": build.template(build.job("{{ .Name }}-job"))},
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


async def test_a_dummy_error_is_retried_with_its_message_until_somebody_cancels(
    world: World,
) -> None:
    version = tasked([build.dummy("err", wantErr=True, done=True)], build.plan({"try": ["err"]}))
    await install(world, version)

    text = (
        "A transient error when executing task deploy.phase1.try.err. Will retry. dummy error"
    )  # fmt: skip
    seen = await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the transient error"
    )
    before = passes(world, "retry")
    await wait_until(lambda: _more(world, before), lambda: "another try")

    assert (instances.status_of(seen, "deploy"), instances.steps(seen, "deploy")) == (
        "IN_PROGRESS",
        {"phase1.try": "ERROR"},
    )
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i")
    assert await reasons(world) == ["PlanStarted", "PlanCancelled", "PlanFinished"]


async def _more(world: World, before: float) -> bool:
    return passes(world, "retry") > before


def passes(world: World, outcome: str) -> float:
    """Return how many passes of the reconciler ended so."""
    _, text = world.installation.reconciler.get("/metrics")
    lines = [line for line in text.splitlines() if f'outcome="{outcome}"' in line]
    return sum(float(line.split()[-1]) for line in lines if "_total" in line)
