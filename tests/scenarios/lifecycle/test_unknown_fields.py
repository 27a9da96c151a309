"""An older reconciler beside a newer CRD: runs of what it does not know wait for a newer one."""

from collections.abc import AsyncIterator
from copy import deepcopy

import pytest

from kubeio.client import Client
from kubeio.resource import CRDS
from kudo.plans.runs.conditions import UNKNOWN_FIELDS
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import event_text, until_event
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, VERSIONS

_NAME = "operatorversions.kudo.dev"
_PATH = ("spec", "plans", "additionalProperties", "phases", "items", "steps", "items")


@pytest.fixture(autouse=True)
async def newer(admin: Client) -> AsyncIterator[None]:
    """Have a CRD that knows a field `tomorrow` of steps."""
    before = await admin.get(CRDS, _NAME)
    versions = deepcopy(before["spec"]["versions"])
    schema = versions[0]["schema"]["openAPIV3Schema"]
    for part in _PATH:
        schema = schema[part] if part in {"additionalProperties", "items"} else _of(schema, part)
    schema["properties"]["tomorrow"] = {"type": "string"}
    await admin.merge_patch(CRDS, _NAME, {"spec": {"versions": versions}})
    yield
    await admin.merge_patch(CRDS, _NAME, {"spec": {"versions": before["spec"]["versions"]}})


def _of(schema: Json, field: str) -> Json:
    part: Json = schema["properties"][field]
    return part


def version(**step: str) -> Json:
    made = build.operator_version(
        "app-1",
        templates={
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="5s")),
            "late.yaml": build.template(build.config_map("{{ .Name }}-late", a="b")),
        },
        plans={"deploy": build.plan({"web": ["web"]}, {"late": ["late"]})},
    )
    made["spec"]["plans"]["deploy"]["phases"][1]["steps"][0] |= step
    return made


async def until_held(world: World) -> Json:
    return await world.until("i", lambda i: instances.reason_of(i)[1] == UNKNOWN_FIELDS, "held")


async def test_a_run_with_an_unknown_field_waits_and_says_which(
    world: World, admin: Client
) -> None:
    done = await world.apply(version(tomorrow="x"), build.instance("i", "app-1"))
    assert done.code == 0, done.output
    text = str(instances.ready(await until_held(world))["message"])
    assert "has fields that this reconciler does not know" in text
    assert "plans.deploy.phases[1].steps[0].tomorrow" in text
    await until_event(world, UNKNOWN_FIELDS)
    assert await event_text(world, UNKNOWN_FIELDS) == text
    status = await world.kudo("plan", "status", "--instance=i")
    assert f"Waits: {text}" in status.output
    assert (await world.kudo("plan", "cancel", "--instance=i")).code == 0
    await world.until_failed("i")
    assert await world.all(CONFIG_MAPS) == []


async def test_a_run_that_has_begun_is_left_as_it_is(world: World, admin: Client) -> None:
    done = await world.apply(version(), build.instance("i", "app-1"))
    assert done.code == 0, done.output
    begun = await world.until(
        "i", lambda i: instances.status_of(i, "deploy") == "IN_PROGRESS", "it"
    )
    await world.reconciler.kill()
    known = await world.get(VERSIONS, "app-1")
    newer = deepcopy(known["spec"])
    newer["plans"]["deploy"]["phases"][1]["steps"][0]["tomorrow"] = "x"
    await admin.merge_patch(VERSIONS, "app-1", {"spec": newer}, namespace=world.namespace)
    await world.reconciler.start()
    held = await until_held(world)
    assert instances.entry(held, "deploy")["uid"] == instances.entry(begun, "deploy")["uid"]
    assert instances.status_of(held, "deploy") == "IN_PROGRESS"
    # A reconciler that knows the field would go on: here, the field goes.
    await admin.merge_patch(
        VERSIONS,
        "app-1",
        {"spec": {"plans": known["spec"]["plans"]}},
        namespace=world.namespace,
    )
    await world.until_complete("i")
