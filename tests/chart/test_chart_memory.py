"""A pod's memory limit holds its service and all worker processes at their limits."""

from pathlib import Path

import pytest

from kudo_reconciler.settings import Settings as ReconcilerSettings
from kudo_webhook.settings import Settings as WebhookSettings
from serving.worker_pool import WorkerSettings, memory
from tests.chart.objects import named, of_set, pod_and_container
from tests.chart.value_sets import VALUE_SETS
from tools.chart.helm import CHART

_OWN = {"webhook": 256 << 20, "reconciler": 512 << 20}
"""Bytes for the main process; values.yaml says so beside the limit."""


@pytest.mark.parametrize("component", _OWN)
@pytest.mark.parametrize("name", VALUE_SETS)
def test_the_limit_holds_the_service_and_every_worker_process(name: str, component: str) -> None:
    deployment = named(of_set(name), "Deployment", f"kudo-{component}")
    _, container = pod_and_container(deployment)
    workers = worker_settings(component, container["args"])
    limit = memory(container["resources"]["limits"]["memory"])
    # One more process is the spare.
    assert _OWN[component] + (workers.processes + 1) * workers.memory <= limit


@pytest.mark.parametrize("component", _OWN)
def test_the_values_of_the_chart_are_the_defaults_of_the_service(component: str) -> None:
    deployment = named(of_set("default"), "Deployment", f"kudo-{component}")
    _, container = pod_and_container(deployment)
    assert worker_settings(component, container["args"]) == WorkerSettings()


@pytest.mark.parametrize("component", _OWN)
def test_what_the_service_itself_may_take_is_said_beside_its_limit(component: str) -> None:
    values = Path(CHART, "values.yaml").read_text(encoding="utf-8")
    assert f"# {_OWN[component] >> 20}Mi for the {component} itself" in values


def worker_settings(component: str, argv: list[str]) -> WorkerSettings:
    if component == "webhook":
        return WebhookSettings.read(argv, {}).worker_processes
    return ReconcilerSettings.read(argv, {}).worker_processes
