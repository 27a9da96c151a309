"""What happens to Instances while the watch is behind."""

from tests.faults.injection.faults import Fault, Rule
from tests.faults.injection.reconcilers import Reconcilers
from tests.integration.watching.conftest import WatchingProxy
from tests.support import build
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
