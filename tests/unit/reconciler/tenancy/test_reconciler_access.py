"""Access reviews: who is asked, how often, and what a failure means."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.errors import Forbidden, ServerError
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import CLUSTER_ROLES, DEPLOYMENTS, PODS
from kubeio.types import JsonObject
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.tenancy.access import KEPT_SECONDS, AccessReviews
from tests.support.apiserver import status
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.faults import Fate, Quiet
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError
from tests.support.loops.virtual_loop import VirtualLoop

ANNA = Identity.service_account("ns", "anna")
FORBIDDEN = StatusError(403, "Forbidden", "cannot impersonate")
BEN = Identity.service_account("ns", "ben")


@dataclass
class Held(Quiet):
    """Holds requests, and has the server refuse them.

    Attributes:
        sent: What was asked, and by whom.
    """

    seconds: float = 0.0
    refused: StatusError | None = None
    sent: list[tuple[str, JsonObject]] = field(default_factory=list)

    def fate(self, request: Request) -> Fate:
        review = orjson.loads(request.body)
        self.sent.append((request.user, review["spec"]["resourceAttributes"]))
        return Fate(before=self.seconds, refused=self.refused)


@dataclass
class World:
    network: Held
    cluster: MemoryCluster
    client: Client

    def of(self, identity: Identity | None) -> Client:
        return self.client.acting(identity)


def run(body: Callable[[World, AccessReviews], Awaitable[None]], most: int = 10) -> None:
    async def main() -> None:
        network, cluster = Held(), MemoryCluster.start()
        client, _ = cluster.client(user="reconciler", network=network, finish_writes=True)
        await body(World(network, cluster, client), AccessReviews(loop_seconds, most=most))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def test_the_account_asks_for_itself_in_its_namespace() -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        assert await reviews.may_get(world.of(ANNA), DEPLOYMENTS, "ns")
        asked = {"verb": "get", "group": "apps", "resource": "deployments", "namespace": "ns"}
        assert world.network.sent == [("system:serviceaccount:ns:anna", asked)]

    run(body)


def test_a_cluster_scoped_kind_is_asked_for_without_a_namespace() -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        assert await reviews.may_get(world.of(ANNA), CLUSTER_ROLES, None)
        assert world.network.sent[0][1]["namespace"] == ""

    run(body)


def test_nobody_asks_for_the_reconciler() -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        world.cluster.server.may = lambda *_: False
        assert await reviews.may_get(world.of(None), PODS, "ns")
        assert world.network.sent == []

    run(body)


def test_an_answer_is_of_one_account_one_kind_and_one_namespace() -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        world.cluster.server.may = lambda user, asked: (
            user.endswith(":anna") and (asked["resource"], asked["namespace"]) == ("pods", "ns")
        )
        anna, ben = world.of(ANNA), world.of(BEN)
        assert await reviews.may_get(anna, PODS, "ns")
        assert not await reviews.may_get(ben, PODS, "ns")
        assert not await reviews.may_get(anna, PODS, "other")
        assert not await reviews.may_get(anna, PODS, None)
        assert not await reviews.may_get(anna, DEPLOYMENTS, "ns")
        assert len(world.network.sent) == 5

    run(body)


@pytest.mark.parametrize("allowed", [True, False])
def test_an_answer_is_kept_for_a_minute(allowed: bool) -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        world.cluster.server.may = lambda *_: allowed
        anna = world.of(ANNA)
        assert await reviews.may_get(anna, PODS, "ns") is allowed
        world.cluster.server.may = lambda *_: not allowed
        await asyncio.sleep(KEPT_SECONDS - 1)
        assert await reviews.may_get(anna, PODS, "ns") is allowed
        await asyncio.sleep(2)
        assert await reviews.may_get(anna, PODS, "ns") is not allowed
        assert len(world.network.sent) == 2

    run(body)


def test_the_age_of_an_answer_counts_from_the_question() -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        world.network.seconds = 20.0
        await reviews.may_get(world.of(ANNA), PODS, "ns")
        await asyncio.sleep(KEPT_SECONDS - 19)
        await reviews.may_get(world.of(ANNA), PODS, "ns")
        assert len(world.network.sent) == 2

    run(body)


def test_who_asks_the_same_at_once_shares_a_request_also_if_the_first_is_cancelled() -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        world.network.seconds = 1.0
        asking = [
            asyncio.create_task(reviews.may_get(world.of(ANNA), PODS, "ns")) for _ in range(20)
        ]
        await asyncio.sleep(0.5)
        asking[0].cancel()
        assert await asyncio.gather(*asking[1:]) == [True] * 19
        assert asking[0].cancelled()
        assert len(world.network.sent) == 1

    run(body)


@pytest.mark.parametrize("refused", [status.internal_error("down"), FORBIDDEN])
def test_a_review_that_fails_is_a_no_for_this_time(refused: StatusError) -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        anna = world.of(ANNA)
        world.network.refused = refused
        assert not await reviews.may_get(anna, PODS, "ns")
        assert len(reviews) == 0
        with pytest.raises((ServerError, Forbidden)):
            await reviews.ask(anna, PODS, "ns")
        world.network.refused = None
        assert await reviews.may_get(anna, PODS, "ns")

    run(body)


def test_a_review_is_not_sent_by_who_does_not_lead() -> None:
    def refuse() -> None:
        raise NotLeading

    async def body(world: World, reviews: AccessReviews) -> None:
        world.client.before_write = refuse
        with pytest.raises(NotLeading):
            await reviews.may_get(world.of(ANNA), PODS, "ns")
        assert world.network.sent == []

    run(body)


def test_answers_are_bounded_and_the_least_used_goes_first() -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        anna = world.of(ANNA)
        for number in range(3):
            await reviews.may_get(anna, PODS, f"ns-{number}")
        await reviews.may_get(anna, PODS, "ns-0")
        await reviews.may_get(anna, PODS, "ns-3")
        assert len(reviews) == 3
        await reviews.may_get(anna, PODS, "ns-0")
        assert len(world.network.sent) == 4
        await reviews.may_get(anna, PODS, "ns-1")
        assert len(world.network.sent) == 5

    run(body, most=3)


@pytest.mark.parametrize("answer", ["true", 1, None])
def test_what_is_no_plain_yes_is_a_no(answer: Any) -> None:
    async def body(world: World, reviews: AccessReviews) -> None:
        world.cluster.server.may = lambda *_: answer
        assert not await reviews.may_get(world.of(BEN), PODS, "ns")

    run(body)
