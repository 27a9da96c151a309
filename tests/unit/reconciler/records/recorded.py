"""Records of Instances, for scenes about them; no tests of its own."""

import asyncio
from typing import Any

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INVENTORIES
from tests.support import build
from tests.unit.reconciler.scenes.scene import Scene, of_kind

DROPPED = (
    of_kind("ConfigMap", "{{ .Name }}-kept", "a")
    + '{{ if eq .Params.TEXT "one" }}\n---\n'
    + of_kind("ConfigMap", "{{ .Name }}-dropped", "a")
    + "{{ end }}"
)
"""The template of an object that is always there, and of one with the default of TEXT alone."""


def operator(
    templates: dict[str, str], tasks: list[JsonObject], **plans: list[list[str]]
) -> JsonObject:
    """Return an OperatorVersion; each plan has a step for each list of tasks."""
    parameters = [
        {"name": "TEXT", "default": "one"},
        {"name": "ON", "default": "true"},
    ]
    return build.stored_version(
        parameters=parameters,
        tasks=tasks,
        templates=templates,
        plans={name: build.serial(*steps) for name, steps in plans.items()},
    )


async def update(scene: Scene, name: str = "i", **parameters: str) -> None:
    """Change parameters of an Instance that is at rest, and wait for the end of the run."""
    await asyncio.sleep(10)
    await scene.life.user.change(name, {"parameters": parameters})
    await scene.until_idle(name)


async def run(scene: Scene, plan: str, name: str = "i") -> None:
    """Run a plan of an Instance that is at rest to its end."""
    await asyncio.sleep(10)
    await scene.run(name, plan)


def inventory(scene: Scene, name: str = "i", number: int = 0) -> JsonObject | None:
    """Return an Inventory of an Instance as it is stored."""
    stored = f"{name}.{scene.uid(name)[:8]}.{number}"
    return scene.stored(INVENTORIES, stored)


def on_record(scene: Scene, name: str = "i") -> dict[str, JsonObject]:
    """Return the objects on record of an Instance, by their names."""
    found = inventory(scene, name)
    return {} if found is None else {obj["name"]: obj for obj in found["objects"]}


def writes(scene: Scene) -> list[str]:
    """Return the writes to Inventories."""
    return [
        one.method
        for one in scene.network.seen
        if f"/{INVENTORIES.plural}" in one.path and one.method != "GET"
    ]


def orphans(scene: Scene, name: str = "i") -> Any:
    """Return `status.orphans` of an Instance."""
    stored = scene.life.observed.instance(name)
    assert stored is not None
    return stored["status"].get("orphans")
