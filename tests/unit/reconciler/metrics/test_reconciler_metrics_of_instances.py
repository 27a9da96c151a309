"""Instances by state and runs in progress, counted beside the loop that changes them."""

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.types import JsonObject
from kudo.api.times import rfc3339
from kudo_reconciler.common.keys import INSTANCES
from kudo_reconciler.metrics.instances import MOST_NAMED, InstanceCollector, state_of

EARLY, LATE = "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"
EARLY_SECONDS = 1767225610
NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def instance(
    name: str = "i",
    *,
    plan: str = "",
    uid: str = "u",
    started: str | None = None,
    stored_uid: str = "u",
    observed: int = 1,
    deleting: bool = False,
    **conditions: str,
) -> JsonObject:
    metadata = {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"}
    entry = {"uid": stored_uid} | ({"startedAt": started} if started else {})
    made: JsonObject = {
        "metadata": metadata | {"generation": 1},
        "spec": {"planExecution": {"planName": plan, "uid": uid}} if plan else {},
        "status": {
            "observedGeneration": observed,
            "conditions": [{"type": kind, "status": one} for kind, one in conditions.items()],
            "planStatus": {plan: entry} if plan else {},
        },
    }
    if deleting:
        made["metadata"]["deletionTimestamp"] = EARLY
    return made


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (instance(Ready="True", Reconciling="False", Stalled="False"), "ready"),
        (instance(Ready="False", Reconciling="False", Stalled="False"), "not_ready"),
        (instance(Ready="Unknown", Reconciling="False", Stalled="False"), "unknown"),
        (instance(Ready="Unknown", Reconciling="False", Stalled="True"), "failed"),
        (instance(Ready="False", Stalled="True"), "failed"),
        (instance(Ready="True", plan="backup"), "progressing"),
        (instance(Ready="True", Reconciling="True"), "progressing"),
        (instance(plan="deploy", Stalled="True"), "failed"),
        (instance(plan="deploy", Stalled="True", observed=0), "progressing"),
        (instance(Ready="False", Stalled="True", observed=0), "failed"),
        (instance(Ready="True", deleting=True), "deleting"),
        (instance(plan="cleanup", Stalled="True", deleting=True), "deleting"),
        (instance(), "unknown"),
        ({"metadata": {"name": "i"}}, "unknown"),
        ({"metadata": {"name": "i"}, "spec": None, "status": None}, "unknown"),
        (
            {"metadata": {}, "spec": {"planExecution": None}, "status": {"conditions": None}},
            "unknown",
        ),
        ({"metadata": {}, "status": {"conditions": [{}]}}, "unknown"),
    ],
)
def test_an_instance_is_in_one_of_six_states(found: JsonObject, state: str) -> None:
    assert state_of(found) == state


def registry(*instances: JsonObject) -> CollectorRegistry:
    made = CollectorRegistry()
    made.register(InstanceCollector(lambda: list(instances), lambda: NOW))
    return made


def samples(made: CollectorRegistry, name: str) -> dict[str, float]:
    """Return the samples of a metric with one label, without those that are 0."""
    return {
        next(iter(sample.labels.values())): sample.value
        for metric in made.collect()
        for sample in metric.samples
        if metric.name == name and sample.value
    }


def test_every_instance_is_counted_in_its_state() -> None:
    made = registry(
        instance("a", Ready="True"), instance("b", Ready="True"), instance("c", deleting=True)
    )
    assert samples(made, "kudo_instances") == {"ready": 2, "deleting": 1}
    assert made.get_sample_value("kudo_instances", {"state": "failed"}) == 0


def test_the_runs_in_progress_are_counted_with_the_beginning_of_the_oldest() -> None:
    made = registry(
        instance("a", plan="deploy", started=LATE),
        instance("b", plan="deploy", started=EARLY),
        instance("c", plan="nightly-42", started=LATE),
        instance("d", Ready="True"),
    )
    assert samples(made, "kudo_plan_runs_in_progress") == {"deploy": 2, "other": 1}
    name = "kudo_plan_run_oldest_start_timestamp_seconds"
    assert samples(made, name) == {"deploy": EARLY_SECONDS, "other": EARLY_SECONDS + 10}


@pytest.mark.parametrize(
    "waiting",
    [
        instance(plan="deploy"),
        instance(plan="deploy", started="soon"),
        instance(plan="deploy", started=EARLY, stored_uid="of the run before"),
        {"metadata": {}, "spec": {"planExecution": {"planName": "deploy"}}},
    ],
)
def test_a_run_whose_beginning_is_not_known_counts_without_it(waiting: JsonObject) -> None:
    made = registry(waiting)
    assert samples(made, "kudo_plan_runs_in_progress") == {"deploy": 1}
    assert samples(made, "kudo_plan_run_oldest_start_timestamp_seconds") == {}


def paused(name: str, since: str | None) -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"suspend": True},
        "status": {"suspendedAt": since} if since else {},
    }


def suspended_seconds(made: CollectorRegistry) -> dict[tuple[str, str], float]:
    return {
        (sample.labels["instance_namespace"], sample.labels["instance_name"]): sample.value
        for metric in made.collect()
        for sample in metric.samples
        if metric.name == "kudo_instance_suspended_seconds"
    }


@pytest.mark.parametrize(
    ("since", "number", "seconds"),
    [
        pytest.param(EARLY, 1, 3590, id="it counts from suspendedAt"),
        pytest.param(rfc3339(NOW + timedelta(hours=1)), 1, 0, id="a later time is no time yet"),
        pytest.param(None, 0, None, id="the reconciler has not seen the pause"),
        pytest.param("soon", 1, None, id="a time that cannot be read names nothing"),
    ],
)
def test_a_suspended_instance_is_counted_and_named(
    since: str | None, number: int, seconds: float | None
) -> None:
    made = registry(paused("a", since), instance("b", Ready="True"))
    assert made.get_sample_value("kudo_instances_suspended") == number
    assert suspended_seconds(made) == ({} if seconds is None else {("ns", "a"): seconds})


def test_of_many_suspended_instances_those_that_waited_longest_are_named() -> None:
    number = MOST_NAMED + 5
    since = [rfc3339(NOW - timedelta(minutes=minutes)) for minutes in range(number)]
    made = registry(*(paused(f"i{count}", text) for count, text in enumerate(since)))
    assert made.get_sample_value("kudo_instances_suspended") == number
    named = suspended_seconds(made)
    assert sorted(named.values()) == [60 * minutes for minutes in range(5, number)]


def test_registering_asks_for_no_instances() -> None:
    def asked() -> list[JsonObject]:
        raise AssertionError

    CollectorRegistry().register(InstanceCollector(asked, lambda: NOW))


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Have threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_scrape_and_a_change_do_not_meet(busy_threads: None) -> None:
    client = Client(ClusterConfig(server="http://127.0.0.1:1"))
    informer = Informer(client, INSTANCES)
    for number in range(500):
        informer.observe(instance(f"i{number}", Ready="True"))
    done = threading.Event()
    failures: list[Exception] = []

    def scrape() -> None:
        collector = InstanceCollector(informer.list, lambda: NOW)
        while not done.is_set() and not failures:
            try:
                list(collector.collect())
            except RuntimeError as error:
                failures.append(error)

    scraper = threading.Thread(target=scrape)
    scraper.start()
    for turn in range(20):
        names = [f"new{turn}-{number}" for number in range(300)]
        for name in names:
            assert informer.observe(instance(name, Ready="False"))
        for name in names:
            metadata = instance(name)["metadata"]
            assert informer.observe_gone(metadata["namespace"], name)
    done.set()
    scraper.join()
    assert failures == []
