"""The metrics of both services: name, type, labels, help."""

from prometheus_client import CollectorRegistry

from kudo_webhook import metrics as webhook
from serving.connections import PROBES, Connections
from serving.event_loop import TurnCollector, Turns
from serving.worker_pool import WorkerMetrics
from tests.unit.reconciler.metrics.metrics_seen import exercised
from workers import Observation


def text() -> str:
    """Return a line for each metric of each service, by service."""
    return f"webhook\n{_of(_webhook())}\nreconciler\n{_of(exercised().registry)}"


def _webhook() -> CollectorRegistry:
    metrics = webhook.Metrics(("mutate", "validate"), lambda: 0.0)
    metrics.follow(Connections(PROBES))
    with metrics.request("mutate") as outcome:
        outcome.outcome = "allowed"
    return metrics.registry


def _of(registry: CollectorRegistry) -> str:
    """Return the metrics that have samples, with those of worker processes and of the loop."""
    WorkerMetrics(registry).observe(Observation("job", "ok", waited=0.1, seconds=0.1))
    registry.register(TurnCollector(Turns()))
    lines = []
    for metric in registry.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        labels = sorted({label for sample in metric.samples for label in sample.labels})
        lines.append(f"  {name}{{{', '.join(labels)}}} {metric.type}: {metric.documentation}\n")
    return "".join(sorted(lines))
