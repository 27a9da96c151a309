"""The policy of Instances beside the webhook, on recorded requests: a sample of them, or every one.

No webhook is there, so what the API server refuses is refused by the policy. A request is sent as
it was submitted, and as the mutating webhook would have made it; nothing is stored.
"""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from tests.integration.policies.policies import instances_policy
from tests.integration.policies.recorded_decisions import (
    Judged,
    Row,
    Stored,
    decided,
    requests,
    rows,
)
from tests.support.build import Json
from tests.support.cluster.changes import write_status
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.webhooks import without_webhooks
from tests.support.cluster.world import World
from tests.support.selection.cases import cases

Answer = tuple[Judged, str]
"""A request with the reason of the policy's denial, or "" if it passes."""

CAUGHT = {
    "CleanupNotManual": (77, 77),
    "CleanupRunning": (128, 128),
    # A parameter that is removed counts only if the OperatorVersion declares it.
    "InstanceDeleting": (927, 974),
    # Which plan a parameter triggers is known to the OperatorVersion alone.
    "PlanRunning": (327, 363),
}
"""How many of the webhook's denials the policy denies, too, and of how many."""
ALLOWED = 252
"""How many requests the webhook allows; docs/validation.md names these figures."""


async def store(world: World, state: Stored) -> Json:
    await world.client.create(INSTANCES, state.instance, namespace=world.namespace)
    await write_status(world, state.name, state.status)
    if state.deleting:
        await world.client.delete(INSTANCES, state.name, namespace=world.namespace)
    return await world.instance(state.name)


def kind(row: Row) -> tuple[Stored, str]:
    return row.stored, row.plan_execution


@pytest.fixture(params=["sample", pytest.param("every", marks=pytest.mark.campaign)])
async def answers(world: World, request: pytest.FixtureRequest) -> AsyncIterator[list[Answer]]:
    """Yield what the policy says of recorded requests."""
    replayed = list(rows())
    if request.param == "sample":
        replayed = cases(replayed, kind, each=1)
    world.installation.reconciler.stop()
    async with without_webhooks(world):
        stored = {state: await store(world, state) for state in {row.stored for row in replayed}}
        async with instances_policy(world):
            asked = (one for row in replayed for one in requests(row, stored[row.stored]))
            yield await decided(world, asked)
        for state in filter(lambda state: state.deleting, stored):
            released: Json = {"metadata": {"finalizers": []}}
            await world.client.merge_patch(
                INSTANCES, state.name, released, namespace=world.namespace
            )


async def test_it_denies_nothing_that_the_webhook_allows(answers: list[Answer]) -> None:
    passed = {one.row for one, _ in answers if one.mutated}

    beyond_validation = [(one, reason) for one, reason in answers if reason and not one.webhook]
    beyond_mutation = [(one, reason) for one, reason in answers if reason and one.row in passed]

    assert (beyond_validation, beyond_mutation) == ([], [])
    assert any(not one.webhook for one, _ in answers)
    # The same answers: what it denies, it denies with the webhook's reason.
    named = [(one.webhook, reason) for one, reason in answers if one.webhook in CAUGHT and reason]
    assert [pair for pair in named if pair[0] != pair[1]] == []
    assert {webhook for webhook, _ in named} == set(CAUGHT)
    if {one.row for one, _ in answers} == set(rows()):
        assert sum(not one.webhook for one, _ in answers) == ALLOWED
        assert Counter(webhook for webhook, _ in named) == {r: n for r, (n, _) in CAUGHT.items()}
        denied = Counter(one.webhook for one, _ in answers if one.webhook in CAUGHT)
        assert denied == {reason: of for reason, (_, of) in CAUGHT.items()}
