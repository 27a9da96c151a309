"""The life of what an Instance owns: what a version drops, what another one shares, what stays.

The second version of `shop` adds a ConfigMap and a ClusterRole, and the way back drops them. The
ConfigMap is pruned; the ClusterRole stays, because the Instance `rival` shares it. A retained
ConfigMap outlasts `shop`, and the next Instance of that name takes it over.
"""

import asyncio
from contextlib import suppress
from typing import Final

from kubeio.errors import NotFound
from kubeio.resource import Resource
from kudo.api.names import (
    ANNOTATION_ADOPT_REQUESTED,
    ANNOTATION_DELETE_WITH_INSTANCE,
    ANNOTATION_DELETION_POLICY,
    ANNOTATION_PRUNE_REQUESTED,
    RETAIN,
)
from tests.faults.cells.story import Place, Stage, Story, in_namespace
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, VERSIONS

_SHOP, RIVAL = "shop", "rival"
_WAIT_SECONDS: Final = 150.0
_POLL: Final = 0.2
_RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = Resource(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
_BINDINGS: Final = Resource(
    _RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
_RIGHTS: Final = {
    "apiGroups": [_RBAC],
    "resources": ["clusterroles"],
    "verbs": ["get", "list", "watch", "create", "patch", "delete"],
}


def _version(number: int, **goods: Json) -> Json:
    """Return a version that applies more goods than the other one, or none."""
    kept = build.config_map("{{ .Name }}-kept", what="stays")
    kept["metadata"]["annotations"] = {ANNOTATION_DELETION_POLICY: RETAIN}
    base = build.config_map("{{ .Name }}-base", plan="{{ .PlanName }}")
    goods = {"goods": build.config_map("{{ .Name }}-goods", what="goods"), **goods}
    parts = {"base": base, "kept": kept, **goods}
    tasks = [build.task("base", "Apply", "base.yaml"), build.task("kept", "Apply", "kept.yaml")]
    tasks.append(build.task("goods", "Apply", *(f"{name}.yaml" for name in goods)))
    return build.operator_version(
        f"shops-0.{number}.0",
        operator="shops",
        templates={f"{name}.yaml": build.template(part) for name, part in parts.items()},
        tasks=[*tasks, build.dummy("done", done=True)],
        plans={
            "deploy": build.serial(["base"], ["goods", "kept"]),
            "cleanup": build.serial(["done"]),
        },
    )


def _versions() -> tuple[Json, Json]:
    more = build.config_map("{{ .Name }}-more", what="goods")
    role: Json = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "{{ .Namespace }}-shared",
            # So an Instance leaves it before it is gone, whatever strikes.
            "annotations": {ANNOTATION_DELETE_WITH_INSTANCE: "true"},
        },
        "rules": [],
    }
    return _version(1), _version(2, more=more, shared=role)


async def _grant(place: Place) -> None:
    """Let the reconciler write ClusterRoles."""
    metadata = {"name": f"grant-{place.namespace}"}
    await place.admin.create(ROLES, {"metadata": metadata, "rules": [_RIGHTS]})
    binding = {
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", **metadata},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "kudo-reconciler"}],
    }
    await place.admin.create(_BINDINGS, binding)


async def _create(place: Place, name: str, version: str) -> None:
    instance = build.instance(name, version)
    await place.client.create(INSTANCES, in_namespace(instance, place.namespace))


async def _until_idle(place: Place, name: str, annotation: str = "") -> None:
    """Wait until a run is COMPLETE and no annotation asks for anything, or for a while."""
    deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
    with suppress(NotFound):
        while asyncio.get_running_loop().time() < deadline:
            found = await place.client.get(INSTANCES, name, namespace=place.namespace)
            asked = annotation in (found["metadata"].get("annotations") or {})
            complete = instances.status_of(found, "deploy") == "COMPLETE"
            if complete and instances.idle(found) and not asked:
                return
            await asyncio.sleep(_POLL)


async def _open(place: Place) -> None:
    await _grant(place)
    for version in _versions():
        await place.client.create(VERSIONS, in_namespace(version, place.namespace))
    await _create(place, RIVAL, "shops-0.2.0")
    await _until_idle(place, RIVAL)
    await _create(place, _SHOP, "shops-0.1.0")


async def _share(place: Place) -> None:
    await place.patch(_SHOP, {"operatorVersion": {"name": "shops-0.2.0"}})


async def _drop(place: Place) -> None:
    await place.patch(_SHOP, {"operatorVersion": {"name": "shops-0.1.0"}})


async def _ask(place: Place, annotation: str) -> None:
    """Ask as the commands do; then run a plan, with whose end the stage ends."""
    asked: Json = {"metadata": {"annotations": {annotation: "now"}}}
    with suppress(NotFound):
        await place.client.merge_patch(INSTANCES, _SHOP, asked, namespace=place.namespace)
        await _until_idle(place, _SHOP, annotation)
        await place.patch(_SHOP, {"planExecution": {"planName": "deploy"}})


async def _prune(place: Place) -> None:
    await _ask(place, ANNOTATION_PRUNE_REQUESTED)


async def _adopt(place: Place) -> None:
    await _ask(place, ANNOTATION_ADOPT_REQUESTED)


async def _close(place: Place) -> None:
    await place.delete(_SHOP)


async def _reopen(place: Place) -> None:
    await _create(place, _SHOP, "shops-0.1.0")


OWNED: Final = Story(
    _SHOP,
    (
        Stage("open", "deploy", _open, faulty=False),
        Stage("share", "deploy", _share),
        Stage("drop", "deploy", _drop),
        Stage("prune", "deploy", _prune),
        Stage("adopt", "deploy", _adopt),
        Stage("close", "cleanup", _close),
        Stage("reopen", "deploy", _reopen),
    ),
)
