"""The series of the reconciler: names that Prometheus expects, labels that nobody can blow up."""

from collections.abc import Callable, Iterator

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed

from kubeio.cache.reflector import Phase, Status
from kubeio.connection.round_tripper import Ending, RequestSeen
from kubeio.resource import Resource
from kudo.api import ExecutionStatus
from kudo_reconciler.metrics import labels as words
from kudo_reconciler.metrics.metrics import Metrics
from tests.unit.reconciler.metrics.metrics_seen import ALLOWED, ended, exercised

OTHER_UNITS = {"milliseconds", "ms", "minutes", "hours", "kilobytes", "percent"}
TYPES = {"counter", "gauge", "histogram", "summary"}


def ours(metrics: Metrics) -> Iterator[Metric]:
    return (one for one in metrics.registry.collect() if one.name.startswith("kudo_"))


def value(metrics: Metrics, name: str, **labels: str) -> float:
    found = metrics.registry.get_sample_value(name, labels)
    return 0.0 if found is None else found


# Names, as `promtool check metrics` wants them


def test_every_metric_of_ours_has_our_prefix_and_a_help_text() -> None:
    families = list(exercised().registry.collect())
    assert {one.name.partition("_")[0] for one in families} == {"kudo", "process", "python"}
    for one in families:
        assert one.documentation.strip(), one.name
        if one.name.startswith("kudo_"):
            assert one.documentation.endswith("."), one.name


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("lower case", lambda m: m.name == m.name.lower() and "__" not in m.name),
        ("counters end in _total", lambda m: m.type != "counter" or _all_end(m, "_total")),
        ("only counters do", lambda m: m.type == "counter" or not _any_end(m, "_total")),
        ("histograms are in seconds", lambda m: m.type != "histogram" or m.name[-8:] == "_seconds"),
        ("base units only", lambda m: not {*m.name.split("_")} & OTHER_UNITS),
        ("no type in the name", lambda m: not {*m.name.split("_")} & TYPES),
        ("no label in the name", lambda m: not any(f"_by_{x}" in m.name for x in _labels(m))),
        ("no series for a moment of creation", lambda m: not _any_end(m, "_created")),
        ("a moment says so", lambda m: ("start" in m.name) <= ("timestamp" in m.name or _runs(m))),
    ],
)
def test_names_follow_the_rule(rule: str, holds: Callable[[Metric], bool]) -> None:
    assert [one.name for one in ours(exercised()) if not holds(one)] == [], rule


def _all_end(metric: Metric, suffix: str) -> bool:
    return all(sample.name.endswith(suffix) for sample in metric.samples)


def _any_end(metric: Metric, suffix: str) -> bool:
    return any(sample.name.endswith(suffix) for sample in metric.samples)


def _labels(metric: Metric) -> set[str]:
    return {label for sample in metric.samples for label in sample.labels}


def _runs(metric: Metric) -> bool:
    return metric.name in {"kudo_plan_runs_started", "kudo_watch_restarts"}


def test_the_strict_parser_reads_what_we_say() -> None:
    metrics = exercised()
    text = openmetrics(metrics.registry).decode()  # type: ignore[no-untyped-call]
    read = {one.name for one in parsed(text)}  # type: ignore[no-untyped-call]
    assert read == {one.name for one in metrics.registry.collect()}


# Labels

NAMES_INSTANCES = "kudo_instance_suspended_seconds"
"""Has a bounded number of series, of any Instances."""


def test_no_label_takes_a_value_that_is_not_listed() -> None:
    seen: dict[str, dict[str, set[str]]] = {}
    for metric in ours(exercised()):
        for sample in metric.samples:
            for label, content in sample.labels.items():
                if label != "le" and metric.name != NAMES_INSTANCES:
                    seen.setdefault(metric.name, {}).setdefault(label, set()).add(content)
    assert {name: set(labels) for name, labels in seen.items()} == {
        name: set(labels) for name, labels in ALLOWED.items()
    }
    for name, labels in seen.items():
        for label, values in labels.items():
            assert values <= set(ALLOWED[name][label]), (name, label)


def test_what_is_not_listed_counts_as_other() -> None:
    metrics = exercised()
    assert value(metrics, "kudo_plan_runs_started_total", plan="other") == 1
    assert value(metrics, "kudo_plan_runs_in_progress", plan="other") == 2
    assert value(metrics, "kudo_reconcile_total", outcome="other") == 2
    assert value(metrics, "kudo_watches", resource="other") == 1
    codes = {"verb": "other", "outcome": "ok"}
    assert value(metrics, "kudo_api_requests_total", code="200", **codes) == 2


def test_a_busy_cluster_makes_no_more_series_than_a_quiet_one_can() -> None:
    metrics = exercised()
    before = sum(len(one.samples) for one in metrics.registry.collect())
    for number in range(1000):
        metrics.run_started(f"plan-{number}")
        metrics.run_superseded(f"plan-{number}")
        metrics.request_seen(RequestSeen(f"VERB{number}", 600 + number, 0.1, "answered"))
        metrics.watches.seen(
            Resource(f"g{number}", "v1", "K", "ks", namespaced=True), Status(Phase.WATCHING)
        )
    after = sum(len(one.samples) for one in metrics.registry.collect())
    # The codes above 599 are one code, which `exercised` has seen with another outcome.
    assert after - before <= 2


# What is counted


@pytest.mark.parametrize(
    ("code", "ending", "labels"),
    [
        (200, "answered", ("200", "ok")),
        (404, "answered", ("404", "refused")),
        (429, "answered", ("429", "refused")),
        (503, "answered", ("503", "failed")),
        (0, "timeout", ("none", "timeout")),
        (0, "lost", ("none", "lost")),
        (0, "cancelled", ("none", "cancelled")),
        (298, "answered", ("other", "ok")),
    ],
)
def test_a_request_counts_by_code_and_outcome(
    code: int, ending: Ending, labels: tuple[str, str]
) -> None:
    metrics = Metrics()
    metrics.request_seen(RequestSeen("GET", code, 0.25, ending))
    found = {"verb": "GET", "code": labels[0], "outcome": labels[1]}
    assert value(metrics, "kudo_api_requests_total", **found) == 1
    assert value(metrics, "kudo_api_request_duration_seconds_sum", verb="GET") == 0.25


def test_a_run_counts_with_its_duration_by_its_status() -> None:
    metrics = Metrics()
    metrics.run_finished(ended("deploy", ExecutionStatus.FATAL_ERROR), "TaskApplyError")
    labels = {"plan": "deploy", "status": "FATAL_ERROR"}
    count = value(metrics, "kudo_plan_runs_finished_total", **labels, reason="TaskApplyError")
    assert count == 1
    assert value(metrics, "kudo_plan_run_duration_seconds_sum", **labels) == 60


def test_a_run_whose_beginning_is_unknown_counts_without_a_duration() -> None:
    metrics = Metrics()
    entry = ended("deploy", ExecutionStatus.COMPLETE).model_copy(update={"started_at": None})
    metrics.run_finished(entry, "")
    labels = {"plan": "deploy", "status": "COMPLETE"}
    assert value(metrics, "kudo_plan_runs_finished_total", **labels, reason="") == 1
    assert value(metrics, "kudo_plan_run_duration_seconds_count", **labels) == 0


def test_the_series_of_runs_are_there_before_the_first_run() -> None:
    metrics = Metrics()
    for plan in words.PLANS:
        assert (
            metrics.registry.get_sample_value("kudo_plan_runs_started_total", {"plan": plan}) == 0
        )


def test_each_term_of_leadership_counts_once() -> None:
    metrics = Metrics()
    states = []
    for leading in (True, False, True):
        metrics.leading(leading)
        states.append(value(metrics, "kudo_leader"))
    assert states == [1, 0, 1]
    assert value(metrics, "kudo_leader_transitions_total") == 2
