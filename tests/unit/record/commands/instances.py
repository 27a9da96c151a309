"""The fixed set of Instances that commands show: what real runs have left in an API server.

The reconciler has brought them there over the API server in memory, in simulated time; so there is
nothing in them that it would not write.
"""

import asyncio
from functools import cache
from typing import Any

from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.storage import StorageName
from tests.unit.reconciler.scenes.scene import Scene, play, role

WEB = "web-2.1.0-0.3.0"
NEWER = "web-2.2.0-0.4.0"
SHOP = "shop-1.0.0"
GONE = "gone-1.0.0"
Stored = tuple[tuple[StorageName, JsonObject], ...]
"""Objects, and the resource of each."""

_PARAMETERS = [
    build.parameter("REPLICAS", "1", type="integer", trigger="deploy", description="Pods to run."),
    build.parameter("GREETING", "hello", displayName="Greeting"),
    build.parameter("PASSWORD", "changeme"),
    build.parameter("SIZE", "small", enum=["small", "large"], immutable=True),
    build.parameter("NOTE", "", required=False),
]
_TEMPLATES = {
    "deployment.yaml": build.template(
        build.deployment("{{ .Name }}-web", replicas="{{int .Params.REPLICAS int}}")
    ),
    "config.yaml": build.template(build.config_map("{{ .Name }}-config", a="{{ .Params.SIZE }}")),
    "page.yaml": build.template(build.config_map("{{ .Name }}-page", a="{{ .Params.GREETING }}")),
    "role.yaml": role("{{ .Name }}-role"),
    "job.yaml": build.template(build.job("{{ .Name }}-backup")),
}
_TASKS = [
    build.task("config", "Apply", "config.yaml", "role.yaml"),
    build.task("page", "Apply", "page.yaml"),
    build.task("app", "Apply", "deployment.yaml"),
    build.task("dump", "Apply", "job.yaml"),
    build.task("clean", "Delete", "config.yaml"),
    build.dummy("fails", wantErr=True),
    build.dummy("breaks", wantErr=True, fatal=True),
    build.dummy("done", done=True),
]
_PLANS = {
    "deploy": build.shaped({"config": ["config", "page"], "app": ["app"]}),
    "backup": build.shaped({"dump": ["dump"]}, {"upload": ["done"], "report": ["done"]}),
    "flaky": build.shaped({"first": ["done"], "again": ["fails"], "last": ["done"]}),
    "broken": build.shaped(
        {"first": ["done"], "breaks": ["breaks"], "last": ["done"]}, phase="parallel"
    ),
    "cleanup": build.shaped({"clean": ["clean"]}),
}


def _version(name: str, operator: str, number: str, app: str, **spec: Any) -> JsonObject:
    found = build.operator_version(
        name, templates={}, plans={}, parameters=_PARAMETERS, tasks=_TASKS, operator=operator
    )
    more = {"version": number, "appVersion": app, "templates": _TEMPLATES, "plans": _PLANS}
    metadata = {"name": name, "namespace": "ns", "labels": {"heritage": "kudo"}}
    return {**found, "metadata": metadata, "spec": {**found["spec"], **more, **spec}}


def _versions() -> list[JsonObject]:
    without_page = {"deploy": build.shaped({"config": ["config"], "app": ["app"]})}
    child = build.task("web", "KudoOperator", package="web", operatorVersion="0.3.0",
                       appVersion="2.1.0", instanceName="shop-web")  # fmt: skip
    return [
        _version(WEB, "web", "0.3.0", "2.1.0"),
        _version(NEWER, "web", "0.4.0", "2.2.0", plans=_PLANS | without_page),
        _version(GONE, "gone", "1.0.0", "1.0.0"),
        _version(
            SHOP,
            "shop",
            "1.0.0",
            "",
            tasks=[child],
            templates={},
            plans={"deploy": build.shaped({"web": ["web"]})},
            parameters=[],
        ),
    ]


def _operator(name: str) -> JsonObject:
    spec = {
        "description": f"The operator {name}",
        "kubernetesVersion": "1.22.0",
        "maintainers": [{"name": "Jane Roe", "email": "jane@example.org"}],
        "url": f"https://example.org/{name}",
    }
    metadata = {"name": name, "namespace": "ns", "labels": {"heritage": "kudo"}}
    return {
        "apiVersion": "kudo.dev/v1beta1", "kind": "Operator", "metadata": metadata, "spec": spec
    }  # fmt: skip


def _outcome(obj: JsonObject) -> Outcome:
    stuck = obj["metadata"]["name"].startswith("waiting")
    return Outcome("stuck" if stuck else "healthy", seconds=2.0)


async def _happen(scene: Scene) -> None:
    """Bring each Instance where it is to be."""
    admin, life = scene.admin, scene.life
    life.cluster.workloads.outcome = _outcome

    async def create(name: str, version: str, **parameters: str) -> None:
        body = build.instance(name, version, **parameters)
        labels = {"heritage": "kudo", "kudo.dev/operator": version.partition("-")[0]}
        body["metadata"] |= {"namespace": "ns", "labels": labels}
        await admin.create(INSTANCES, body)

    async def edit(name: str, **spec: Any) -> None:
        await admin.merge_patch(INSTANCES, name, {"spec": spec}, namespace="ns")

    for name in ("web", "shop"):
        await admin.create(OPERATORS, _operator(name))
    for version in _versions():
        await admin.create(OPERATOR_VERSIONS, version)
    for name in ("idle", "failed", "paused", "busy", "orphans"):
        await create(name, WEB, PASSWORD="hunter2")
    await create("stray", GONE)
    await create("shop", SHOP)
    await asyncio.sleep(60)
    await admin.delete(OPERATOR_VERSIONS, GONE, namespace="ns")
    await edit("idle", parameters={"REPLICAS": "3"})
    await asyncio.sleep(60)
    for name, plan in (("idle", "backup"), ("failed", "broken"), ("busy", "flaky")):
        await edit(name, planExecution={"planName": plan})
    await edit("orphans", operatorVersion={"name": NEWER})
    await edit("paused", suspend=True)
    await asyncio.sleep(60)
    await edit("paused", parameters={"REPLICAS": "2"})
    await edit("orphans", parameters={"NOTE": "later"})
    await create("waiting", WEB)
    await asyncio.sleep(200)


@cache
def stored() -> Stored:
    """Return everything that is stored at the end, but for the CRDs."""
    found: list[tuple[StorageName, JsonObject]] = []

    async def body(scene: Scene) -> None:
        await _happen(scene)
        everything = scene.life.cluster.server.storage.everything()
        found.extend((name, obj) for name, obj in everything if obj["kind"] != _CRD)

    play(body)
    return tuple(found)


_CRD = "CustomResourceDefinition"
