"""What both services tell Prometheus while plans run: as docs/metrics.md says, over restarts too.

Counters are compared with what they were before, since the installation serves other tests, too.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from kubeio.errors import NotFound
from kudo_cluster.installation import Service
from kudo_reconciler.metrics.labels import RECONCILE_OUTCOMES
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.clients import client_as
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.metrics_docs import documented

_DEPLOYS = 10
SERVICES = {"reconciler": ("Reconciler", "Both"), "webhook": ("Webhook", "Both")}


class Scrape:
    """What /metrics said at one moment."""

    def __init__(self, text: str) -> None:
        families = list(parsed(text))
        self.kinds = {one.name: one.type for one in families}
        self._values = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def get(self, name: str, **labels: str) -> float | None:
        return self._values.get((name, frozenset(labels.items())))

    def __call__(self, name: str, **labels: str) -> float:
        """Return the value of a series; one that is not there yet is 0."""
        return self.get(name, **labels) or 0.0


async def scrape(service: Service) -> Scrape:
    status, text = await asyncio.to_thread(service.get, "/metrics")
    assert status == 200, text
    return Scrape(text)


async def seen(world: World) -> Scrape:
    return await scrape(world.installation.reconciler)


@pytest.fixture(autouse=True)
async def alone(world: World) -> None:
    """Let go of what other tests left: gauges speak of all Instances of the cluster."""
    async with client_as(world, "admin") as admin:
        for left in (await admin.list(INSTANCES)).items:
            metadata = left["metadata"]
            name, namespace = metadata["name"], metadata["namespace"]
            free = {"metadata": {"finalizers": None}}
            with suppress(NotFound):
                # Of hundreds that are left, few have one.
                if "finalizers" in metadata:
                    await admin.merge_patch(INSTANCES, name, free, namespace=namespace)
                await admin.delete(INSTANCES, name, namespace=namespace)
    await until(world, lambda m: m("kudo_plan_runs_in_progress", plan="other") == 0, "no run")


async def until(world: World, condition: Callable[[Scrape], bool], what: str) -> Scrape:
    """Wait until the reconciler's metrics fulfil a condition."""
    last: list[Scrape] = []

    async def fulfilled() -> bool:
        last[:] = [await seen(world)]
        return condition(last[0])

    await wait_until(fulfilled, lambda: what)
    return last[0]


def two_steps(**plans: Json) -> Json:
    return build.operator_version(
        "v-1",
        templates={
            "a.yaml": build.template(build.config_map("{{ .Name }}-a", a="{{ .Params.A }}")),
            "b.yaml": build.template(build.config_map("{{ .Name }}-b")),
            "slow.yaml": build.template(build.deployment("{{ .Name }}-slow", ready_delay="4s")),
            "broken.yaml": "{{ .Params.Nowhere.Deeper }}\n{{ template }}",
        },
        plans={"deploy": build.plan({"a": ["a"], "b": ["b"]}), **plans},
        parameters=[build.parameter("A", "1")],
    )


async def settled(world: World, condition: Callable[[Scrape], bool], what: str) -> Scrape:
    """Wait for a condition and for the end of all reconciles; return what is counted by then.

    What they write is seen before they are counted, and one scrape reads gauges and counters one
    after the other.
    """

    def idle(m: Scrape) -> bool:
        return m("kudo_queue_depth") == m("kudo_queue_longest_running_seconds") == 0

    await until(world, lambda m: condition(m) and idle(m), what)
    return await seen(world)


def increased(before: Scrape, after: Scrape, name: str, **labels: str) -> float:
    return after(name, **labels) - before(name, **labels)


async def test_a_run_that_completes_changes_the_series_that_speak_of_it(world: World) -> None:
    before = await seen(world)
    await world.apply(two_steps(), build.instance("i", "v-1"))
    await world.until_complete("i")
    after = await settled(
        world,
        lambda m: m("kudo_instances", state="ready") > before("kudo_instances", state="ready"),
        "one more ready Instance",
    )

    complete = {"plan": "deploy", "status": "COMPLETE"}
    expected = [
        (1, "kudo_plan_runs_started_total", {"plan": "deploy"}),
        (1, "kudo_plan_runs_finished_total", {**complete, "reason": ""}),
        (1, "kudo_plan_run_duration_seconds_count", complete),
        (2, "kudo_step_duration_seconds_count", {"status": "COMPLETE"}),
        (2, "kudo_render_duration_seconds_count", {}),
        (2, "kudo_objects_applied_total", {"outcome": "applied"}),
        (1, "kudo_reconcile_total", {"outcome": "finished"}),
        (1, "kudo_reconcile_duration_seconds_count", {}),
        (1, "kudo_queue_adds_total", {}),
        (1, "kudo_queue_wait_seconds_count", {}),
        (2, "kudo_api_requests_total", {"verb": "APPLY", "code": "201", "outcome": "ok"}),
        (2, "kudo_api_requests_total", {"verb": "POST", "code": "201", "outcome": "ok"}),
        (1, "kudo_api_requests_total", {"verb": "PUT", "code": "200", "outcome": "ok"}),
        (2, "kudo_api_request_duration_seconds_count", {"verb": "APPLY"}),
    ]
    for least, name, labels in expected:
        assert increased(before, after, name, **labels) >= least, (name, labels)


async def test_a_standing_reconciler_tells_who_leads_and_what_it_watches(world: World) -> None:
    await world.apply(two_steps(), build.instance("i", "v-1"))
    await world.until_complete("i")
    now = await until(world, lambda m: m("kudo_leader") == 1, "the reconciler to lead")

    # A machine that stands still for longer than the lease lasts makes it lead more than once; the
    # unit tests count the terms.
    assert now("kudo_leader_transitions_total") >= 1
    for resource in ("instances.kudo.dev", "operatorversions.kudo.dev", "pods", "configmaps"):
        assert now("kudo_watches", resource=resource) == 1, resource
        contact = now("kudo_watch_last_contact_timestamp_seconds", resource=resource)
        assert 0 < contact <= time.time(), resource
    for reason in ("ended", "error", "gone", "silent"):
        assert now.get("kudo_watch_restarts_total", reason=reason) is not None
    assert now("kudo_api_requests_total", verb="LIST", code="200", outcome="ok") >= 2
    assert now("kudo_api_requests_total", verb="WATCH", code="200", outcome="ok") >= 2


async def test_a_run_that_fails_is_counted_with_its_reason(world: World) -> None:
    before = await seen(world)
    await world.apply(
        two_steps(deploy=build.plan({"broken": ["broken"]})), build.instance("i", "v-1")
    )
    await world.until_failed("i")
    after = await settled(
        world,
        lambda m: m("kudo_instances", state="failed") > before("kudo_instances", state="failed"),
        "one more failed Instance",
    )

    failed = {"plan": "deploy", "status": "FATAL_ERROR"}
    expected: list[tuple[str, dict[str, str]]] = [
        ("kudo_plan_runs_finished_total", {**failed, "reason": "TaskRenderingError"}),
        ("kudo_plan_run_duration_seconds_count", failed),
        ("kudo_step_duration_seconds_count", {"status": "FATAL_ERROR"}),
        ("kudo_render_duration_seconds_count", {}),
    ]
    for name, labels in expected:
        assert increased(before, after, name, **labels) >= 1, (name, labels)


async def begun(world: World) -> Json:
    """Have a plan of the operator's own run that waits for a Deployment."""
    await world.apply(two_steps(backup=build.plan({"slow": ["slow"]})), build.instance("i", "v-1"))
    await world.until_complete("i")
    await world.patch("i", {"planExecution": {"planName": "backup"}})
    return await world.until(
        "i",
        lambda i: instances.steps(i, "backup").get("phase1.slow") == "IN_PROGRESS",
        "a run that waits",
    )


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


async def test_a_restart_in_a_run_keeps_its_beginning_and_its_duration(world: World) -> None:
    waiting = await begun(world)
    started = moment(instances.entry(waiting, "backup")["startedAt"])
    name = "kudo_plan_run_oldest_start_timestamp_seconds"
    await until(world, lambda m: m.get(name, plan="other") == started, "the run in progress")

    world.installation.reconciler.kill()
    world.installation.reconciler.start()
    now = await seen(world)
    assert now.get(name, plan="other") == started
    assert now("kudo_plan_runs_in_progress", plan="other") == 1
    complete = {"plan": "other", "status": "COMPLETE"}
    assert now("kudo_plan_run_duration_seconds_count", **complete) == 0

    ended = await world.until_complete("i", "backup")
    after = await until(
        world, lambda m: m("kudo_plan_runs_in_progress", plan="other") == 0, "the end of the run"
    )
    seconds = moment(instances.entry(ended, "backup")["finishedAt"]) - started
    assert after("kudo_plan_run_duration_seconds_count", **complete) == 1
    assert after("kudo_plan_run_duration_seconds_sum", **complete) == seconds
    task = instances.entry(ended, "backup")["phases"][0]["steps"][0]["tasks"][0]
    tried = moment(task["finishedAt"]) - moment(task["startedAt"])
    assert after("kudo_step_duration_seconds_sum", status="COMPLETE") >= tried
    assert after("kudo_plan_runs_started_total", plan="other") == 0
    assert after("kudo_plan_runs_finished_total", **complete, reason="") == 1
    assert after.get(name, plan="other") is None


async def cancel(world: World) -> object:
    return await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})


async def restart(world: World) -> object:
    return await world.patch("i", {"planExecution": {"uid": "another"}})


async def delete(world: World) -> object:
    return await world.client.delete(INSTANCES, "i", namespace=world.namespace)


@pytest.mark.parametrize(
    ("act", "reason"),
    [(cancel, "PlanCancelled"), (restart, "PlanSuperseded"), (delete, "PlanStopped")],
)
async def test_a_run_that_is_taken_away_is_counted_with_what_took_it(
    world: World, act: Callable[[World], Awaitable[object]], reason: str
) -> None:
    await begun(world)
    labels = {"plan": "other", "status": "FATAL_ERROR", "reason": reason}
    before = await seen(world)

    await act(world)

    name = "kudo_plan_runs_finished_total"
    after = await until(
        world, lambda m: increased(before, m, name, **labels) >= 1, f"a run that ends as {reason}"
    )
    assert increased(before, after, name, **labels) == 1


@pytest.mark.parametrize("name", SERVICES)
async def test_what_a_service_tells_is_what_is_documented(world: World, name: str) -> None:
    await world.apply(two_steps(), build.instance("i", "v-1"))
    await world.until_complete("i")

    told = await scrape(getattr(world.installation, name))

    tables = documented(*SERVICES[name])
    listed = {metric.removesuffix("_total"): kind for metric, (kind, _) in tables.items()}
    # The moment at which a counter began is an addition of the client library.
    kinds = {metric: kind for metric, kind in told.kinds.items() if not metric.endswith("_created")}
    assert kinds == listed


async def test_our_own_writes_cause_no_second_reconcile(world: World) -> None:
    version = build.operator_version(
        "one-1",
        templates={"a.yaml": build.template(build.config_map("{{ .Name }}-a"))},
        plans={"deploy": build.plan({"a": ["a"]})},
    )
    await world.apply(version, build.instance("first", "one-1"))
    await world.until_complete("first")
    # Of the kinds that it has not seen the reconciler opens the watch first.
    before = await settled(
        world, lambda m: m("kudo_watches", resource="configmaps") == 1, "a watch"
    )

    for number in range(_DEPLOYS):
        await world.apply(build.instance(f"i{number}", "one-1"))
        await world.until_complete(f"i{number}")
    after = await settled(
        world, lambda m: passes(m, "finished") >= passes(before, "finished") + _DEPLOYS, "the ends"
    )

    # An event may come before the answer to the write that it tells of, or after it.
    assert sum(passes(after, one) - passes(before, one) for one in RECONCILE_OUTCOMES) == _DEPLOYS


def passes(metrics: Scrape, outcome: str) -> float:
    return metrics("kudo_reconcile_total", outcome=outcome)
