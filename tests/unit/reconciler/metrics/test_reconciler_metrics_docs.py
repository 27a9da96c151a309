"""docs/metrics.md against the code: every metric, type, label and value, and no other."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry

from kudo.admission.version_rules import REASON
from kudo_reconciler.metrics import labels as words
from kudo_webhook import metrics as webhook
from serving.connections import PROBES, Connections
from serving.event_loop import TurnCollector, Turns
from serving.worker_pool import WorkerMetrics
from tests.support.metrics_docs import documented, documented_values, queries, rows
from tests.unit.reconciler.metrics.metrics_seen import ALLOWED, exercised
from workers import Observation
from workers.errors import Outcome

LIBS = Path(__file__).resolve().parents[4] / "libs" / "kudo" / "src" / "kudo"
WEBHOOK = Path(webhook.__file__).parent


def exposed(registry: CollectorRegistry) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return type and labels of each metric that has samples, and those of the event loop."""
    registry.register(TurnCollector(Turns()))
    found = {}
    for metric in registry.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        labels = {label for sample in metric.samples for label in sample.labels} - {"le"}
        kind = "gauge" if metric.type == "info" else metric.type
        found[name] = (kind, tuple(sorted(labels)))
    return found


def sorted_labels(
    metrics: dict[str, tuple[str, tuple[str, ...]]],
) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {name: (kind, tuple(sorted(labels))) for name, (kind, labels) in metrics.items()}


def webhook_registry() -> CollectorRegistry:
    metrics = webhook.Metrics(("mutate", "validate"), lambda: 0.0)
    metrics.follow(Connections(PROBES))
    with metrics.request("mutate") as outcome:
        outcome.outcome = "allowed"
    return with_workers(metrics.registry)


def with_workers(registry: CollectorRegistry) -> CollectorRegistry:
    """Add what both services tell of their worker processes."""
    WorkerMetrics(registry).observe(Observation("job", "ok", waited=0.1, seconds=0.1))
    return registry


def test_the_reconcilers_metrics_are_documented_and_no_others() -> None:
    assert sorted_labels(documented("Reconciler", "Both")) == exposed(
        with_workers(exercised().registry)
    )


def test_the_webhooks_metrics_are_documented_and_no_others() -> None:
    assert sorted_labels(documented("Webhook", "Both")) == exposed(webhook_registry())


def test_every_metric_is_explained() -> None:
    for heading in ("Reconciler", "Webhook", "Both"):
        assert all(meaning.endswith(".") for *_, meaning in rows(heading))


def test_the_values_of_the_reconcilers_labels_are_documented_and_no_others() -> None:
    values = documented_values()
    for name, labels in ALLOWED.items():
        for label, allowed in labels.items():
            listed = values.get((name, label)) or values[f"{name}_total", label]
            expected = {"none", "other"} if label == "code" else set(allowed)
            assert listed == expected, (name, label)


def test_every_label_of_ours_has_its_values_documented() -> None:
    metrics = documented("Reconciler", "Webhook", "Both")
    ours = {name: labels for name, (_, labels) in metrics.items() if name.startswith("kudo_")}
    labelled = {(name, label) for name, labels in ours.items() for label in labels}
    assert labelled == set(documented_values())


def test_the_outcomes_of_jobs_are_documented() -> None:
    said = documented_values()["kudo_worker_jobs_total", "outcome"]
    assert said == set(get_args(Outcome))


def test_the_reasons_of_the_webhook_are_documented() -> None:
    files = [
        *(LIBS / "admission").glob("*.py"),
        *(
            LIBS / name
            for name in (
                "plans/runs/plan_choice.py",
                "plans/runs/retries.py",
                "plans/runs/upgrades.py",
                "parameters/values.py",
                "jobs/version.py",
            )
        ),
    ]
    said = {"", REASON} | _first_arguments(files, "Problem", 0)
    said |= _first_arguments(files, "problem", 0)
    said |= _first_arguments([*WEBHOOK.glob("*.py"), LIBS / "jobs/review.py"], "failed", 1)
    said |= _first_arguments(list(WEBHOOK.glob("*.py")), "_refuse", 2)
    assert documented_values()["kudo_admission_requests_total", "reason"] == said


def _first_arguments(files: list[Path], function: str, position: int) -> set[str]:
    arguments = [
        node.args[position]
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function
    ]
    return {str(one.value) for one in arguments if isinstance(one, ast.Constant)}


@pytest.mark.parametrize("query", queries())
def test_a_query_names_metrics_labels_and_values_that_exist(query: str) -> None:
    metrics, values = documented("Reconciler", "Webhook", "Both"), documented_values()
    used = re.findall(r"\b(kudo_\w+)(?:\{([^}]*)\})?", query)
    assert used
    for name, matchers in used:
        metric = name if name in metrics else re.sub(r"_(bucket|sum|count)$", "", name)
        assert metric in metrics
        assert (metrics[metric][0] == "histogram") == (metric != name)
        for label, operator, text in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', matchers):
            if label == "code":
                assert set(text.split("|")) <= set(words.API_CODES)
                continue
            pattern = text if "~" in operator else re.escape(text)
            matched = [one for one in values[metric, label] if re.fullmatch(pattern, one)]
            assert matched, (metric, label, text)
        for label in _grouped_by(query):
            assert label == "le" or any(label in metrics[one][1] for one in metrics if one in query)


def _grouped_by(query: str) -> set[str]:
    grouped = re.findall(r"\bby \(([^)]*)\)", query)
    return {label.strip() for group in grouped for label in group.split(",")}
