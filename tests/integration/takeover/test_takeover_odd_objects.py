"""Objects that the original would have refused, or that years on many clusters have changed."""

from collections.abc import Mapping

import pytest

from kubeio.client import Client
from tests.integration.takeover.operator_of_old import version_of_old
from tests.integration.takeover.original import BUDGETS, LAST_APPLIED
from tests.integration.takeover.watching import (
    Watcher,
    original_in_charge,
    run_to_end,
    settled,
)
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

_CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: loose}
data:
  value: {{ .Params.VALUE_A }}
{{- if eq .Params.EXTRA "yes" }}
  dropped: b
{{- end }}
"""
_BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec:
  selector:
    matchLabels: {app: web}
{{- if eq .Params.EXTRA "yes" }}
  minAvailable: 1
{{- else }}
  maxUnavailable: 1
{{- end }}
"""
VERSION = version_of_old(templates={"config.yaml": _CONFIG}, deploy=["config.yaml"])
WITH_BUDGET = version_of_old(templates={"budget.yaml": _BUDGET}, deploy=["budget.yaml"])
CHANGED = {"parameters": {"VALUE_A": "ChangedValue", "EXTRA": "no"}}


async def annotate(admin: Client, namespace: str, annotations: Mapping[str, str]) -> None:
    """Put these annotations in place of all others, as the original."""
    op: Json = {"op": "replace", "path": "/metadata/annotations", "value": annotations}
    await admin.json_patch(CONFIG_MAPS, "loose", [op], namespace=namespace, field_manager="manager")


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {"note": "n"},
        {"note": "n", LAST_APPLIED: ""},
        {"note": "n", LAST_APPLIED: "{"},
        {"note": "n", LAST_APPLIED: "[]"},
    ],
    ids=["no annotations", "another annotation", "empty", "no JSON", "no object"],
)
async def test_an_object_without_a_usable_annotation_is_adopted(
    world: World, admin: Client, annotations: Mapping[str, str]
) -> None:
    """The original ended the plan here, unless the object had no annotation at all."""
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin) as original:
        await original.install(VERSION)
        await annotate(admin, world.namespace, annotations)
    await settled(world)

    await run_to_end(world, admin, CHANGED)

    found = await watcher.get(CONFIG_MAPS, "loose")
    assert found["data"]["value"] == "ChangedValue"
    assert LAST_APPLIED not in found["metadata"]["annotations"]


async def forget_fields(admin: Client, watcher: Watcher) -> None:
    """Clear managedFields, as an API server of before server-side apply left them."""
    cleared = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    await admin.json_patch(CONFIG_MAPS, "loose", cleared, namespace=watcher.namespace)
    assert "managedFields" not in (await watcher.get(CONFIG_MAPS, "loose"))["metadata"]


async def test_an_object_older_than_managed_fields_is_changed_exactly(
    world: World, admin: Client
) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin) as original:
        await original.install(VERSION)
        mine = {"data": {"mine": "a"}, "metadata": {"annotations": {"mine": "b"}}}
        await admin.merge_patch(CONFIG_MAPS, "loose", mine, namespace=world.namespace)
        await forget_fields(admin, watcher)
    await settled(world)

    await run_to_end(world, admin, CHANGED)

    found = await watcher.get(CONFIG_MAPS, "loose")
    assert found["data"] == {"value": "ChangedValue", "mine": "a"}
    assert found["metadata"]["annotations"]["mine"] == "b"
    assert LAST_APPLIED not in found["metadata"]["annotations"]


async def forget_version(admin: Client, watcher: Watcher) -> None:
    """Say that the original wrote the budget as policy/v1beta1: the API server drops that entry.

    It does so with the first write of anybody once a version is no longer served.
    """
    stored = await watcher.get(BUDGETS, "budget")
    entries = [
        {**entry, "apiVersion": "policy/v1beta1"} if entry["manager"] == "manager" else entry
        for entry in stored["metadata"]["managedFields"]
    ]
    change = [{"op": "replace", "path": "/metadata/managedFields", "value": entries}]
    await admin.json_patch(BUDGETS, "budget", change, namespace=watcher.namespace)
    stored = await watcher.get(BUDGETS, "budget")
    managers = {entry["manager"] for entry in stored["metadata"]["managedFields"]}
    assert managers == {"kube-controller-manager"}


async def test_an_object_written_in_a_version_that_is_gone_is_changed_exactly(
    world: World, admin: Client
) -> None:
    """The budget may have either field, but not both."""
    watcher = Watcher(admin, world.namespace)

    async def judged() -> bool:
        return "status" in await watcher.get(BUDGETS, "budget")

    async with original_in_charge(world, admin) as original:
        await original.install(WITH_BUDGET)
        await wait_until(judged, lambda: "the status of the budget")
        await forget_version(admin, watcher)
    await settled(world)

    await run_to_end(world, admin, CHANGED)

    spec = (await watcher.get(BUDGETS, "budget"))["spec"]
    assert spec == {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}
