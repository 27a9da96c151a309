"""Limits of namespaces and the debug port: as values, as options, and that they agree."""

from typing import Any

import pytest

from kudo_reconciler.common.concurrency import Fairness
from kudo_reconciler.settings import Settings as ReconcilerSettings
from kudo_webhook.settings import Settings as WebhookSettings
from serving.settings import Share
from serving.worker_pool import WorkerSettings
from tests.chart.objects import named, of_set, pod_and_container
from tools.chart.helm import HelmError, render
from workers import Bounds


def options(objects: list[Any], component: str) -> list[str]:
    _, container = pod_and_container(named(objects, "Deployment", f"kudo-{component}"))
    found: list[str] = container["args"]
    return found


def test_without_values_both_services_have_their_defaults() -> None:
    objects = of_set("default")
    every = options(objects, "reconciler") + options(objects, "webhook")
    assert not [one for one in every if "--namespace-" in one or "operations" in one]
    reconciler = ReconcilerSettings.read(options(objects, "reconciler"), {})
    webhook = WebhookSettings.read(options(objects, "webhook"), {})
    assert reconciler.fairness == Fairness()
    assert reconciler.worker_processes == webhook.worker_processes == WorkerSettings()
    assert (reconciler.metrics_auth, webhook.metrics_auth) == ("none", "none")


def test_what_is_set_reaches_the_reconciler() -> None:
    found = ReconcilerSettings.read(options(of_set("everything-set"), "reconciler"), {})
    assert found.fairness == Fairness(workers=1, operations=Share(128, 16))
    assert found.worker_processes.share == 1
    assert found.worker_processes.bounds == Bounds(bytes=1 << 30, tenant_bytes=8 << 20)


def test_the_debug_port_is_open_by_default_and_can_be_left_out() -> None:
    for component in ("webhook", "reconciler"):
        assert "--debug-port=6060" in options(of_set("default"), component)
    left_out = options(of_set("everything-set"), "webhook")
    assert not any("--debug-port" in one for one in left_out)


def test_no_service_and_no_policy_opens_the_debug_port() -> None:
    others = [one for one in of_set("default") if one["kind"] in ("Service", "NetworkPolicy")]
    assert others
    assert "6060" not in str(others)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"reconciler": {"fairness": {"operations": {"total": 64, "namespace": 64}}}},
            "reconciler.fairness.operations: namespace (64) must be less than total (64)",
        ),
        (
            {"webhook": {"fairness": {"workerJobMemory": {"total": "1Mi", "namespace": "1024Ki"}}}},
            "webhook.fairness.workerJobMemory: namespace (1024Ki) must be less than total (1Mi)",
        ),
        (
            {"reconciler": {"fairness": {"namespaceWorkers": 16}}},
            "reconciler.fairness.namespaceWorkers (16) must be less than 16",
        ),
        (
            {"webhook": {"fairness": {"namespaceWorkerProcesses": 2}}},
            "webhook.fairness.namespaceWorkerProcesses (2) must be less than 2",
        ),
        ({"webhook": {"fairness": {"operations": {}}}}, "'operations' not allowed"),
        ({"reconciler": {"fairness": {"runEvents": {"total": 0}}}}, "minimum: got 0, want 2"),
        ({"reconciler": {"debugPort": 65536}}, "maximum: got 65,536"),
    ],
)
def test_what_contradicts_itself_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(HelmError) as refused:
        render(values)
    assert says in str(refused.value)


def test_no_namespace_may_take_as_much_as_all_of_them() -> None:
    render({"reconciler": {"fairness": {"operations": {"namespace": 63}, "namespaceWorkers": 15}}})
