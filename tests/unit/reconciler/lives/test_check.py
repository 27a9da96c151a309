"""Check tasks: what they wait for and tell, what ends them, and what they cost."""

import asyncio
from typing import Any

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support import build
from tests.unit.reconciler.lives.life import Life, passes

RINGS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
READY = "self.data.ready == string(params.NODES)"
STEP = {"name": "wait", "tasks": ["ring"]}


def version(*more: JsonObject, **check: Any) -> JsonObject:
    spec = {"apiVersion": "v1", "kind": "ConfigMap", "until": READY, **check}
    if "selector" not in spec:
        spec.setdefault("name", "{{ .Name }}-ring")
    after = {"name": "after", "kind": "Apply", "spec": {"resources": ["after.yaml"]}}
    steps = [STEP, {"name": "after", "tasks": ["after"]}]
    return build.stored_version(
        plans={"deploy": {"phases": [{"name": "main", "strategy": "serial", "steps": steps}]}},
        tasks=[{"name": "ring", "kind": "Check", "spec": {"check": spec}, **dict(*more)}, after],
        templates={"after.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: after}\n"},
        parameters=[{"name": "NODES", "value-type": "integer", "default": "3"}],
    )


def ring(name: str = "i-ring", **data: str) -> JsonObject:
    metadata = {"name": name, "labels": {"app": "ring"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deploy(life: Life) -> Any:
    stored = life.observed.instance("i")
    assert stored is not None
    return stored["status"]["planStatus"]["deploy"]


def waiting(life: Life) -> str:
    """Return what the step waits for; it must be waiting."""
    step = deploy(life)["phases"][0]["steps"][0]
    assert step["status"] == "IN_PROGRESS", step
    return str(step["message"])


async def begin(life: Life, made: JsonObject) -> None:
    life.network.calm = True
    await life.put_version(made)
    await life.user.create("i", {})
    await asyncio.sleep(10)


async def put(life: Life, obj: JsonObject) -> None:
    kind = SECRETS if obj["kind"] == "Secret" else RINGS
    await life.user.client.apply(kind, obj, field_manager="alice", namespace="ns", force=True)


def test_a_plan_waits_until_the_expression_is_true() -> None:
    async def body(life: Life) -> None:
        said = '"%s of %d".format([self.data.ready, params.NODES])'
        await begin(life, version(message=said))
        assert waiting(life) == "no ConfigMap i-ring yet"
        await put(life, ring(ready="2"))
        await asyncio.sleep(40)
        assert waiting(life) == "2 of 3"
        await put(life, ring(ready="3"))
        await asyncio.sleep(40)
        assert deploy(life)["status"] == "COMPLETE"

    passes(body, "admitted")
