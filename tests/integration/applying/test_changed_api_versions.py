"""A field that a template drops together with a change of its API version goes."""

import json

from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import as_admin
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World


def version(
    parts: dict[str, str], deploy: dict[str, list[str]], *parameters: Json, **plans: Json
) -> Json:
    return build.operator_version(
        "v", templates=parts, plans={"deploy": build.plan(deploy), **plans}, parameters=parameters
    )


async def test_a_field_dropped_with_a_change_of_the_api_version_goes(world: World) -> None:
    def scaler(api_version: str, label: str) -> str:
        return f"""
apiVersion: {api_version}
kind: HorizontalPodAutoscaler
metadata: {{name: scaler, labels: {{{label}: "yes"}}}}
spec:
  maxReplicas: 3
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: nothing}}
"""

    old = {"scaler.yaml": scaler("autoscaling/v1", "old")}
    health = {"again": build.plan({"scaler": ["scaler"]})}
    done = await world.apply(version(old, {"nothing": []}, **health), build.instance("i", "v"))
    assert done.code == 0, done.output
    await world.until_complete("i")
    await world.patch("i", {"planExecution": {"planName": "again"}})
    labels = await until_labels(world, "old")
    assert "old" in labels

    new = version({"scaler.yaml": scaler("autoscaling/v2", "new")}, {"nothing": []}, **health)
    done = await world.apply(new)
    assert done.code == 0, done.output
    await world.patch("i", {"planExecution": {"planName": "again", "uid": ""}})
    labels = await until_labels(world, "new")

    assert "old" not in labels


async def until_labels(world: World, label: str) -> Json:
    labels: Json = {}

    async def there() -> bool:
        nonlocal labels
        text = await as_admin(world, "get", "hpa", "scaler", "-o=json", "--ignore-not-found")
        labels = json.loads(text)["metadata"]["labels"] if text else {}
        return label in labels

    await wait_until(there, lambda: f"label {label}; there is {labels}")
    return labels
