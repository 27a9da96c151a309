"""HorizontalPodAutoscalers: the metrics of autoscaling/v2beta1 in the structure of v2."""

from typing import Any

from kudo.objects.removed_apis import modernized

Json = dict[str, Any]


def upgraded(spec: Json) -> Any:
    kind = "HorizontalPodAutoscaler"
    source = {"apiVersion": "autoscaling/v2beta1", "kind": kind, "metadata": {}, "spec": spec}
    target = modernized(source)
    assert target is not None
    assert target["apiVersion"] == "autoscaling/v2"
    return target["spec"]


OBJECT = {"kind": "Service", "name": "web", "apiVersion": "v1"}


def test_metrics_of_v2beta1_get_the_structure_of_v2() -> None:
    table: list[tuple[Any, Any]] = [
        (
            {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 60}},
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 60},
                },
            },
        ),
        (
            {"type": "Resource", "resource": {"name": "cpu", "targetAverageValue": "100m"}},
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "AverageValue", "averageValue": "100m"},
                },
            },
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "main",
                    "targetAverageUtilization": 60,
                },
            },
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "main",
                    "target": {"type": "Utilization", "averageUtilization": 60},
                },
            },
        ),
        (
            {
                "type": "Pods",
                "pods": {"metricName": "rps", "selector": {}, "targetAverageValue": "1k"},
            },
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "rps", "selector": {}},
                    "target": {"type": "AverageValue", "averageValue": "1k"},
                },
            },
        ),
        (
            {
                "type": "Object",
                "object": {"metricName": "rps", "target": OBJECT, "targetValue": "2k"},
            },
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "rps"},
                    "describedObject": OBJECT,
                    "target": {"type": "Value", "value": "2k"},
                },
            },
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metricName": "rps",
                    "target": OBJECT,
                    "targetValue": "0",
                    "averageValue": "5",
                },
            },
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "rps"},
                    "describedObject": OBJECT,
                    "target": {"type": "AverageValue", "averageValue": "5"},
                },
            },
        ),
        (
            {
                "type": "External",
                "external": {
                    "metricName": "queue",
                    "metricSelector": {"matchLabels": {"a": "b"}},
                    "targetAverageValue": 30,
                },
            },
            {
                "type": "External",
                "external": {
                    "metric": {"name": "queue", "selector": {"matchLabels": {"a": "b"}}},
                    "target": {"type": "AverageValue", "averageValue": 30},
                },
            },
        ),
        ({"type": "Resource", "resource": {"name": "cpu"}}, None),
        ({"type": "Pods", "pods": "all"}, None),
        ("cpu", None),
    ]
    for metric, expected in table:
        assert upgraded({"metrics": [metric]}) == {
            "metrics": [metric if expected is None else expected]
        }


def test_an_autoscaler_without_metrics_stays_as_it_is() -> None:
    assert upgraded({"maxReplicas": 3}) == {"maxReplicas": 3}
