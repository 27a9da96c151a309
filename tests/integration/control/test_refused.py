"""What the API server and the webhook refuse, and who is recorded as having asked for a run."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubeio.client import Client
from kubeio.errors import Invalid
from kubeio.resource import Resource
from tests.integration.control.operators import denied, failed, installed, operator, trigger
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.clients import client_as
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.webhooks import without_mutating_webhook
from tests.support.cluster.world import World

DURATIONS = ("soon", "5", "0s", "0m0s", "-5m", "1h -1m")
"""Texts that are no duration of more than zero."""


def version(at: str, text: str) -> Json:
    """Return an OperatorVersion with a time limit of one plan, phase, step or task."""
    found = operator()
    plan, task = found["spec"]["plans"]["deploy"], found["spec"]["tasks"][0]
    [phase] = plan["phases"]
    limited, _, field = at.rpartition(".")
    {"plan": plan, "phase": phase, "step": phase["steps"][0], "task": task}[limited][field] = text
    return found


def instance(**spec: Any) -> Json:
    found = build.instance("i", "control-1")
    found["spec"].update(spec)
    return found


LIMITS = {
    "plan.timeout": "spec.plans.deploy.timeout",
    "phase.timeout": "spec.plans.deploy.phases[0].timeout",
    "step.timeout": "spec.plans.deploy.phases[0].steps[0].timeout",
    "task.timeout": "spec.tasks[0].timeout",
    "task.progressDeadline": "spec.tasks[0].progressDeadline",
}
"""Fields by what they limit."""
REFUSED: dict[str, tuple[Resource, Json, str]] = {
    **{
        f"{at}: {text}": (VERSIONS, version(at, text), field)
        for at, field in LIMITS.items()
        for text in DURATIONS
    },
    **{
        f"planTimeout: {text}": (INSTANCES, instance(planTimeout=text), "spec.planTimeout")
        for text in DURATIONS
    },
    "historyLimit: 51": (INSTANCES, instance(historyLimit=51), "spec.historyLimit"),
    "historyLimit: -1": (INSTANCES, instance(historyLimit=-1), "spec.historyLimit"),
    "retryOf without a plan": (
        INSTANCES,
        instance(planExecution={"retryOf": "some-run"}),
        "spec.planExecution.planName",
    ),
    "from without a run": (
        INSTANCES,
        instance(planExecution={"planName": "deploy", "from": "phase1.first"}),
        "spec.planExecution.from",
    ),
}


@pytest.fixture
async def open_world(world: World) -> AsyncIterator[World]:
    """Yield a namespace where the mutating webhook refuses nothing before the schema does."""
    async with without_mutating_webhook(world):
        yield world


async def test_what_the_schemas_refuse_is_refused_with_its_field(open_world: World) -> None:
    client, namespace = open_world.client, open_world.namespace
    for name, (resource, obj, field) in REFUSED.items():
        with pytest.raises(Invalid) as caught:
            await client.create(resource, obj, namespace=namespace, dry_run=True)
        assert field in {cause.field for cause in caught.value.causes}, (name, caught.value)


async def test_limits_and_a_history_that_can_be_are_taken(open_world: World) -> None:
    client, namespace = open_world.client, open_world.namespace
    for at in LIMITS:
        for text in ("1s", "1h30m", "1.5h", "100ms", "+1m"):
            await client.create(VERSIONS, version(at, text), namespace=namespace, dry_run=True)


# Who asked


async def test_the_user_who_asks_for_a_run_is_recorded_whoever_is_submitted(world: World) -> None:
    created = await installed(world)
    await trigger(world, "deploy", requestedBy="somebody-else")
    again = await world.until_complete("i")
    async with client_as(world, "admin") as admin:
        stored = await admin.merge_patch(
            INSTANCES, "i", {"spec": {"parameters": {"A": "2"}}}, namespace=world.namespace
        )
    changed = await world.until_complete("i")

    causes = [record["cause"] for record in changed["status"]["history"]]
    who = instances.scheduled(stored)["requestedBy"]
    assert who != "kudo-user"
    assert causes == [
        {"requestedBy": who, "parameters": ["A"]},
        {"requestedBy": "kudo-user"},
        {"requestedBy": "kudo-user"},
    ]
    assert created["status"]["lastRun"]["cause"] == {"requestedBy": "kudo-user"}
    assert again["status"]["lastRun"]["cause"] == {"requestedBy": "kudo-user"}


async def test_who_asked_does_not_change_while_the_run_goes_on(world: World) -> None:
    await installed(world)
    uid = await trigger(world, "long")

    stored = await world.patch("i", {"planExecution": {"requestedBy": "somebody-else"}})

    assert instances.scheduled(stored)["requestedBy"] == "kudo-user"
    assert instances.scheduled(stored)["uid"] == uid
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "long")


async def test_without_the_mutating_webhook_a_forged_user_is_refused(world: World) -> None:
    await installed(world)
    whole = {"planName": "deploy", "uid": "of-their-own", "status": "NEVER_RUN"}

    async with without_mutating_webhook(world):
        forged = await denied(world, {"planExecution": {**whole, "requestedBy": "somebody-else"}})
        await world.patch("i", {"planExecution": {**whole, "requestedBy": "kudo-user"}})
        ended = await world.until_complete("i")

    assert forged.reason in {"MutatingWebhookMissing", "Forbidden"}
    assert "planExecution.requestedBy" in forged.message
    assert instances.entry(ended, "deploy")["uid"] == "of-their-own"


async def test_without_the_mutating_webhook_an_honoured_retry_is_no_request_either(
    world: World, admin: Client
) -> None:
    await installed(world)
    old = await failed(world, admin)
    retry = {"planName": "guarded", "retryOf": old, "from": "phase2.last"}
    await trigger(world, **{"plan": "guarded", "retryOf": old, "from": "phase2.last"})
    await world.until_complete("i", "guarded")

    async with without_mutating_webhook(world):
        again = await denied(world, {"planExecution": {**retry, "uid": "of-their-own"}})

    assert again.reason == "MutatingWebhookMissing"
    assert again.causes[0].field == "spec.planExecution.retryOf"
