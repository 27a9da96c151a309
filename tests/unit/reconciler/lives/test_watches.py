"""Storage that goes back: what Instances show of it."""

import asyncio

from kubeio.types import JsonObject
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.test_scenes import entry, version


def ready(life: Life) -> JsonObject:
    stored = life.observed.instance("i")
    assert stored is not None
    [found] = [one for one in stored["status"]["conditions"] if one["type"] == "Ready"]
    condition: JsonObject = found
    return condition


async def deploy(life: Life) -> None:
    await life.put_version(version(deploy=[["done"]]))
    await life.user.create("i", {})
    await asyncio.sleep(20)


def test_after_a_restore_of_etcd_instances_are_worked_on_again() -> None:
    """Their resourceVersions are lower than those that were seen before."""

    async def body(life: Life) -> None:
        life.network.calm = True
        storage = life.cluster.server.storage
        await deploy(life)
        backup, first = storage.backup(), entry(life, "deploy")["uid"]
        for number in range(300):
            await life.user.label("i", str(number))
        await life.user.create("j", {})
        await asyncio.sleep(20)
        storage.restore(backup)
        # The API server is started anew, as it has to be then.
        await life.cut_watches()
        await asyncio.sleep(10)
        await life.user.change("i", {"run": {"planName": "deploy"}})
        await asyncio.sleep(20)
        assert entry(life, "deploy")["uid"] != first
        assert entry(life, "deploy")["status"] == "COMPLETE"
        assert ready(life)["status"] == "True"
        assert life.observed.instance("j") is None

    passes(body, "admitted")
