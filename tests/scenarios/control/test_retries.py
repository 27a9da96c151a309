"""Retries through the API with both services: what runs again, what counts as no request."""

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.world.operators import (
    block,
    denied,
    failed,
    installed,
    operator,
    trigger,
    unblock,
    until_step,
)

RETRY_OF = "spec.planExecution.retryOf"


def requested(uid: str) -> Json:
    return {"planName": "guarded", "retryOf": uid}


async def test_a_retry_goes_on_at_the_failed_step_and_leaves_the_finished_one_alone(
    world: World, admin: Client
) -> None:
    await installed(world)
    old = await failed(world, admin)
    before = await world.get(CONFIG_MAPS, "i-first")
    await unblock(world, admin)

    new = await trigger(world, "guarded", retryOf=old)
    ended = await world.until_complete("i", "guarded")

    assert (await world.get(CONFIG_MAPS, "i-first"))["metadata"] == before["metadata"]
    assert (await world.get(CONFIG_MAPS, "i-blocked"))["data"] == {"by": "kudo"}
    assert await world.find(CONFIG_MAPS, "i-last") is not None
    entry = instances.entry(ended, "guarded")
    assert (entry["uid"], entry["retryOf"], entry["retried"]) == (new, old, old)
    last, first, _ = ended["status"]["history"]
    assert (first["status"], first["failedStep"]) == ("FATAL_ERROR", "phase1.blocked")
    assert (first["uid"], first["reason"]) == (old, "TaskApplyError")
    assert (last["uid"], last["status"]) == (new, "COMPLETE")
    assert last["cause"] == {"requestedBy": "kudo-user", "retryOf": old}
    assert instances.reason_of(ended) == ("True", "ResourcesReady")


async def test_a_retry_begins_where_it_is_told_to(world: World, admin: Client) -> None:
    await installed(world)
    old = await failed(world, admin)

    await trigger(world, "guarded", **{"retryOf": old, "from": "phase2.last"})
    ended = await world.until_complete("i", "guarded")

    assert (await world.get(CONFIG_MAPS, "i-blocked"))["data"] == {"by": "somebody"}
    assert "assumed finished by the retry from phase2.last" in instances.messages(ended, "guarded")
    assert ended["status"]["history"][0]["cause"]["from"] == "phase2.last"


async def test_a_manifest_that_keeps_an_honoured_retry_asks_for_nothing(
    world: World, admin: Client
) -> None:
    await installed(world)
    old = await failed(world, admin)
    await unblock(world, admin)
    manifest = build.instance("i", "control-1")
    manifest["spec"]["planExecution"] = requested(old)

    for apply in (world.apply, lambda one: server_side(world, one)):
        for _ in range(2):
            await apply(manifest)
            ended = await world.until_complete("i", "guarded")
            assert instances.entry(ended, "guarded")["retryOf"] == old
    # Other changes of the manifest are taken all the same.
    manifest["spec"]["parameters"] = {"A": "2"}
    await server_side(world, manifest)
    await world.until("i", lambda i: i["spec"]["parameters"] == {"A": "2"}, "the change")
    after = await world.until_complete("i")

    plans = [record["plan"] for record in after["status"]["history"]]
    assert plans == ["deploy", "guarded", "guarded", "deploy"]
    assert (await world.get(CONFIG_MAPS, "i-first"))["data"] == {"a": "2"}


async def test_a_manifest_that_keeps_the_retry_does_not_disturb_it_while_it_runs(
    world: World,
) -> None:
    await installed(world)
    old = await trigger(world, "slow")
    await until_step(world, "phase1.web", "IN_PROGRESS", "slow")
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "slow")
    manifest = build.instance("i", "control-1")
    manifest["spec"]["planExecution"] = {"planName": "slow", "retryOf": old}

    await server_side(world, manifest)
    running = await until_step(world, "phase1.web", "IN_PROGRESS", "slow")
    for apply in (world.apply, lambda one: server_side(world, one)):
        await apply(manifest)
    ended = await world.until_complete("i", "slow")

    uid = instances.scheduled(running)["uid"]
    assert [record["uid"] for record in ended["status"]["history"]][:2] == [uid, old]
    assert ended["status"]["history"][0]["cause"] == {"requestedBy": "kudo-user", "retryOf": old}


async def server_side(world: World, manifest: Json) -> None:
    """Apply a manifest as Flux does."""
    await world.client.apply(
        INSTANCES, manifest, namespace=world.namespace, field_manager="flux", force=True
    )


async def test_retries_that_cannot_be_are_denied_with_reason_and_field(
    world: World, admin: Client
) -> None:
    deployed = instances.entry(await installed(world), "deploy")["uid"]
    not_failed = await denied(world, {"planExecution": {"planName": "deploy", "retryOf": deployed}})
    never_ran = await denied(world, {"planExecution": requested("unknown")})
    old = await failed(world, admin)
    not_last = await denied(world, {"planExecution": requested("unknown")})
    nowhere = await denied(world, {"planExecution": {**requested(old), "from": "phase1.nope"}})
    await world.patch("i", {"parameters": {"A": "2"}})
    await world.until_complete("i")
    changed = await denied(world, {"planExecution": requested(old)})

    found = [not_failed, never_ran, not_last, nowhere, changed]
    assert [(error.reason, error.causes[0].field) for error in found] == [
        ("RetryNotFailed", RETRY_OF),
        ("RetryNotLast", RETRY_OF),
        ("RetryNotLast", RETRY_OF),
        ("RetryUnknownStep", "spec.planExecution.from"),
        ("RetryChanged", RETRY_OF),
    ]
    assert f"that is run '{old}'" in not_last.message
    assert "kubectl kudo plan trigger --name guarded --instance i" in changed.message
    # What it began with is in force again.
    await world.patch("i", {"parameters": {"A": None}})
    await world.until_complete("i")
    await unblock(world, admin)
    await trigger(world, "guarded", retryOf=old)
    await world.until_complete("i", "guarded")


async def test_a_retry_is_denied_while_another_plan_runs(world: World, admin: Client) -> None:
    await installed(world)
    old = await failed(world, admin)
    await trigger(world, "long")

    error = await denied(world, {"planExecution": requested(old)})

    assert error.reason == "PlanRunning"
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "long")


# Upgrades that fail


async def upgrade_fails(world: World, admin: Client) -> str:
    """Fail an upgrade to a version that allows none back, and return the uid of the run."""
    await installed(world)
    await block(world, admin)
    await world.apply(operator("control-2"))
    stored = await world.patch("i", {"operatorVersion": {"name": "control-2"}})
    await world.until_failed("i", "upgrade")
    return str(instances.scheduled(stored)["uid"])


async def only_from(world: World, name: str, allowed: str) -> None:
    """Let a version follow no other one than this."""
    version = operator(name, upgradableFrom=[{"name": allowed}])
    done = await world.apply(version)
    assert done.code == 0, done.output


async def test_an_upgrade_that_failed_can_be_retried(world: World, admin: Client) -> None:
    old = await upgrade_fails(world, admin)
    await unblock(world, admin)

    failed_at = await world.instance("i")
    await trigger(world, "upgrade", retryOf=old)
    ended = await world.until_complete("i", "upgrade")

    assert failed_at["status"]["lastRun"]["previousOperatorVersion"]["name"] == "control-1"
    assert ended["status"]["lastRun"]["status"] == "COMPLETE"
    await only_from(world, "control-1", "control-0")
    back = await denied(world, {"operatorVersion": {"name": "control-1"}})
    assert back.reason == "NotUpgradable"


async def test_an_upgrade_that_failed_can_be_gone_back_from(world: World, admin: Client) -> None:
    await upgrade_fails(world, admin)
    await only_from(world, "control-1", "control-0")
    await unblock(world, admin)

    stored = await world.patch("i", {"operatorVersion": {"name": "control-1"}})
    ended = await world.until_complete("i", instances.scheduled(stored)["planName"])

    assert ended["status"]["lastRun"]["operatorVersion"]["name"] == "control-1"
    assert instances.reason_of(ended) == ("True", "ResourcesReady")
