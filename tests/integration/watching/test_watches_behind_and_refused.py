"""What happens to Instances while a kind cannot be watched, or while the watch is behind."""

from tests.faults.injection.faults import Fault, Rule
from tests.faults.injection.reconcilers import Reconcilers
from tests.integration.watching.conftest import WatchingProxy
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World


def waits_for_a_deployment() -> Json:
    return build.operator_version(
        "waits-1",
        templates={
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="1s")),
            "a.yaml": build.template(build.config_map("{{ .Name }}-a")),
        },
        plans={"deploy": build.plan({"web": ["web"]}), "cleanup": build.plan({"a": ["a"]})},
    )


async def test_a_kind_whose_list_fails_is_polled_and_watched_later(
    world: World, proxy: WatchingProxy, reconcilers: Reconcilers
) -> None:
    proxy.failing["deployments.apps"] = 500
    await reconcilers.start("watching", await proxy.listen("watching"))
    await world.apply(waits_for_a_deployment(), build.instance("i", "waits-1"))

    why = "deployments.apps cannot be watched now (not today (500 InternalError)): polled"
    await world.until(
        "i", lambda i: why in instances.messages(i, "deploy"), "a step that says why it polls"
    )
    unknown = await world.until(
        "i", lambda i: instances.ready(i).get("reason") == "ResourcesUnknown", "Ready to be unknown"
    )
    assert instances.status_of(unknown, "deploy") == "COMPLETE"
    assert instances.ready(unknown)["message"] == why

    del proxy.failing["deployments.apps"]
    await world.until("i", lambda i: instances.ready(i)["status"] == "True", "Ready")


async def test_a_deletion_between_the_end_of_a_run_and_its_clear_is_seen_in_the_answer(
    world: World, proxy: WatchingProxy, reconcilers: Reconcilers
) -> None:
    """No event of the namespace's Instances comes after the first write of the run."""

    async def deleted() -> None:
        await world.client.delete(INSTANCES, "i", namespace=world.namespace)

    proxy.before["patch instances.kudo.dev run cleared of i"] = deleted
    await reconcilers.start("behind", await proxy.listen("behind"))
    watch = Rule(world.namespace, "watch instances.kudo.dev", Fault.DROPPED)
    proxy.rules.arm(world.namespace, watch)

    await world.apply(waits_for_a_deployment(), build.instance("i", "waits-1"))

    await world.until_gone(INSTANCES, "i")
    assert watch.struck
