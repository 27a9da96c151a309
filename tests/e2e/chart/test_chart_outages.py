"""Services that are away for a while: what goes on without them, and what is refused."""

from tests.e2e.chart.plans import apply, gated, hold, let_go
from tests.e2e.chart.release import COMPONENTS, Release
from tests.support import build
from tests.support.cluster.events import ends_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, JOBS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tools.chart.helm import NAMESPACE

_ADDRESS = f"https://kudo-webhook.{NAMESPACE}.svc:443/mutate-kudo-dev-v1beta1-instance"
_CHANGE = '--patch={"spec":{"parameters":{"SIZE":"1"}}}'


def leaving() -> dict[str, object]:
    """Return an OperatorVersion whose cleanup plan leaves a trace outside of what is deleted."""
    return build.operator_version(
        "leaving",
        templates={
            "c.yaml": build.template(build.config_map("c")),
            "bye.yaml": build.template(build.config_map("bye")),
        },
        plans={"deploy": build.plan({"c": ["c"]}), "cleanup": build.plan({"bye": ["bye"]})},
    )


async def without_pods(release: Release, component: str) -> None:
    selector = f"--selector=app.kubernetes.io/component={component}"

    async def gone() -> bool:
        return not release.kubectl.get("pods", selector)["items"]

    await wait_until(gone, lambda: f"no pod of the {component}")


async def test_without_a_webhook_plans_go_on_and_only_changes_of_users_are_refused(
    world: World, inside: Kubectl, release: Release
) -> None:
    await apply(world, leaving(), build.instance("leaver", "leaving"))
    await world.until_complete("leaver")
    await hold(world, inside, gated())
    release.scale("webhook", 0)
    await without_pods(release, "webhook")

    await until_refused(world, "held", _CHANGE)
    labelled = await world.kubectl("label", "instances.kudo.dev", "held", "colour=blue")
    let_go(inside)
    await world.until_complete("held")
    await world.client.delete(INSTANCES, "leaver", namespace=world.namespace)
    await world.until_gone(INSTANCES, "leaver")

    assert labelled.code == 0, labelled.output
    assert [e for e in await world.events() if "cleanup" in e["message"]]

    release.scale("webhook", 2)
    await until_taken(world, "held", _CHANGE)
    assert (await world.instance("held"))["spec"]["parameters"]["SIZE"] == "1"


async def until_taken(world: World, name: str, change: str) -> None:
    """Try a change until it is taken: the services need nobody's help to come back."""
    said = ""

    async def taken() -> bool:
        nonlocal said
        done = await world.kubectl("patch", "instances.kudo.dev", name, "--type=merge", change)
        said = done.output
        return done.code == 0

    await wait_until(taken, lambda: f"the change to be taken; last said: {said}", 150)


async def until_refused(world: World, name: str, change: str) -> None:
    """Try a change until it is refused for want of a webhook: the network takes a moment."""
    said = ""

    async def refused() -> bool:
        nonlocal said
        tried = ("patch", "instances.kudo.dev", name, "--type=merge", change, "--dry-run=server")
        said = (await world.kubectl(*tried)).output
        return f"{_ADDRESS}?timeout=10s" in said and "connection refused" in said

    await wait_until(refused, lambda: f"the change to be refused; last said: {said}")
    assert 'failed calling webhook "mutate.instance-admission.kudo.dev"' in said


async def test_a_webhook_that_cannot_be_reached_is_named_and_found_again(
    world: World, release: Release
) -> None:
    await apply(world, leaving(), build.instance("i", "leaving"))
    await world.until_complete("i")
    change = '--patch={"spec":{"planExecution":{"planName":"deploy"}}}'
    port = '--patch=[{"op":"replace","path":"/spec/ports/0/targetPort","value":%s}]'
    release.kubectl("patch", "service/kudo-webhook", "--type=json", port % "9")
    try:
        # Connections that there are already stay, so these have to end.
        release.kubectl("delete", "pods", *release.names("webhook"))
        release.wait_available("webhook")
        await until_refused(world, "i", change)
    finally:
        release.kubectl("patch", "service/kudo-webhook", "--type=json", port % '"admission"')
    await until_taken(world, "i", change)
    await world.until_complete("i")


async def test_pods_of_both_services_deleted_in_mid_plan_leave_it_to_others_and_nothing_twice(
    world: World, inside: Kubectl, release: Release
) -> None:
    uid = await hold(world, inside, gated())
    gate = (await world.get(JOBS, "gate"))["metadata"]["uid"]
    before = await world.get(CONFIG_MAPS, "before")
    names = [name for component in COMPONENTS for name in release.names(component)]

    # As a node does that dies: no time to hand anything over.
    release.kubectl("delete", "pods", "--grace-period=0", "--force", *names)
    let_go(inside)
    release.wait_available()
    ended = await world.until_complete("held")

    assert ended["status"]["planStatus"]["deploy"]["uid"] == uid
    assert len(await ends_of(world, uid)) == 1
    assert (await world.get(JOBS, "gate"))["metadata"]["uid"] == gate
    assert len(inside.get("pods")["items"]) == 1
    assert (await world.get(CONFIG_MAPS, "before"))["metadata"] == before["metadata"]
