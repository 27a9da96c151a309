"""What the API server and the webhook refuse, and who is recorded as having asked for a run."""

from kubeio.client import Client
from tests.support import instances
from tests.support.cluster.interface import World
from tests.support.cluster.resources import INSTANCES
from tests.support.world.operators import denied, failed, installed, trigger

# Who asked


async def test_the_user_who_asks_for_a_run_is_recorded_whoever_is_submitted(world: World) -> None:
    created = await installed(world)
    await trigger(world, "deploy", requestedBy="somebody-else")
    again = await world.until_complete("i")
    async with world.client_as("admin") as admin:
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

    async with world.without_mutating_webhook():
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

    async with world.without_mutating_webhook():
        again = await denied(world, {"planExecution": {**retry, "uid": "of-their-own"}})

    assert again.reason == "MutatingWebhookMissing"
    assert again.causes[0].field == "spec.planExecution.retryOf"
