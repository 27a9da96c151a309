"""What the schemas of the CRDs refuse of limits, retries and histories."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubeio.errors import Invalid
from kubeio.resource import Resource
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.webhooks import without_mutating_webhook
from tests.support.cluster.world import World
from tests.support.world.operators import operator

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
