"""An operator whose objects come and go, and what is on record of them; no tests of its own."""

import asyncio
import json
from collections.abc import Iterator

from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES, INVENTORIES
from tests.support import build
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene

PRUNE, ADOPT = "kudo.dev/prune-requested-at", "kudo.dev/adopt-requested-at"


def config_map(name: str, **metadata: JsonObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"name": name},
    }


def operator(*objects: JsonObject, **spec: object) -> JsonObject:
    """Return an OperatorVersion that applies those objects whose names are in the parameter NAMES.

    Args:
        objects: What there is; by default the ConfigMaps `a`, `b` and `c`.
        spec: Further fields.
    """
    made = objects or tuple(map(config_map, "abc"))
    texts = [
        f'{{{{ if contains "{one["metadata"]["name"]}" .Params.NAMES }}}}\n{json.dumps(one)}\n'
        "{{ end }}"
        for one in made
    ]
    return build.stored_version(
        parameters=[{"name": "NAMES", "default": "a b c"}],
        tasks=[{"name": "apply", "kind": "Apply", "spec": {"resources": ["all"]}}],
        templates={"all": "\n---\n".join(texts)},
        plans={"deploy": build.serial(["apply"])},
        **spec,
    )


async def set_names(scene: Scene, names: str) -> None:
    """Have the plan apply these objects, and wait for its end."""
    await scene.life.user.set("i", {"parameters": {"NAMES": names}})
    await scene.until(
        lambda: not scene.is_busy("i") and instance(scene)["spec"]["parameters"]["NAMES"] == names
    )


async def forget_the_record(scene: Scene) -> None:
    """Delete the record of an Instance while no process runs that would restore it."""
    await scene.life.crash(0)
    await asyncio.sleep(0)
    for one in inventories(scene):
        await scene.admin.delete(INVENTORIES, one["metadata"]["name"], namespace="ns")
    await asyncio.sleep(60)


async def ask(scene: Scene, annotation: str, value: str = "now") -> None:
    change = {"metadata": {"annotations": {annotation: value}}}
    await scene.admin.merge_patch(INSTANCES, "i", change, namespace="ns")


def instance(scene: Scene) -> JsonObject:
    found = scene.life.observed.instance("i")
    assert found is not None
    return found


def is_asked(scene: Scene, annotation: str) -> bool:
    return annotation in (instance(scene)["metadata"].get("annotations") or {})


def orphans(scene: Scene) -> list[str] | None:
    """Return the names of the orphans in the status; None if the field is absent."""
    found = instance(scene)["status"].get("orphans")
    return None if found is None else [one["name"] for one in found]


def inventories(scene: Scene) -> list[JsonObject]:
    table = scene.life.cluster.server.storage.table((INVENTORIES.group, INVENTORIES.plural))
    return list(table.objects.values())


def entries(scene: Scene) -> Iterator[JsonObject]:
    for one in inventories(scene):
        yield from one.get("objects") or ()


def on_record(scene: Scene) -> list[str]:
    """Return the names on record."""
    return sorted(one["name"] for one in entries(scene))


def exists(scene: Scene, name: str, resource: Resource = CONFIG_MAPS) -> bool:
    return scene.stored(resource, name) is not None


def there(scene: Scene) -> list[str]:
    """Return which of the ConfigMaps exist."""
    return [name for name in "abc" if exists(scene, name)]
