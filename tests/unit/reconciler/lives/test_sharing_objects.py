"""Cluster-scoped objects that Instances share: who counts, who is woken, and what it costs."""

import asyncio

from tests.unit.reconciler.lives.scene import (
    GOES,
    ROLES,
    SHARED_BY,
    Scene,
    play,
    role,
    version,
)


async def share_unseen(scene: Scene) -> None:
    """Have an Instance j share the role of i that the reconciler knows nothing of."""
    scene.network.late["instances"] = 60.0
    await scene.life.user.create("j", {})
    named = f"ns/i/{scene.uid('i')},ns/j/{scene.uid('j')}"
    await scene.admin.merge_patch(ROLES, "role", {"metadata": {"annotations": {SHARED_BY: named}}})


# Whether another sharer lives


def test_nobody_loses_a_share_because_the_cache_does_not_know_it_yet() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(), deploy=["apply"], custom=["apply"]))
        scene.network.held = lambda sent: 5.0 if sent.method == "PATCH" else 0.0
        await scene.trigger("i", "custom")
        await asyncio.sleep(1)
        await share_unseen(scene)
        await asyncio.sleep(40)
        assert scene.sharing() == ["i", "j"]

    play(body)


def test_uninstall_keeps_what_a_sharer_needs_that_the_cache_does_not_know_yet() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        scene.network.held = lambda sent: 5.0 if sent.path == "/apis" else 0.0
        await scene.life.user.delete("i")
        await asyncio.sleep(1)
        await share_unseen(scene)
        await asyncio.sleep(30)
        assert scene.life.observed.instance("i") is None
        assert scene.sharing() == ["j"]

    play(body)


def test_uninstall_deletes_an_object_whose_other_sharers_are_gone_unseen() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        named = f"ns/ghost/none,ns/i/{scene.uid('i')}"
        change = {"metadata": {"annotations": {SHARED_BY: named}}}
        await scene.admin.merge_patch(ROLES, "role", change)
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None

    play(body)
