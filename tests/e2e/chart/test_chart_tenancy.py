"""A new release is strict: the reconciler's account has few rights, and plans those of tenants."""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.errors import Forbidden
from tests.e2e.chart.plans import WRITTEN, apply, written
from tests.e2e.chart.release import Release
from tests.support import build, instances
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tools.chart.helm import NAMESPACE


@pytest.fixture
async def reconciler(release: Release) -> AsyncIterator[Client]:
    """Yield a client with a token of the reconciler's account."""
    async with client_of(release.site.service_kubeconfig("reconciler")) as client:
        yield client


async def test_a_plan_acts_as_an_account_of_its_namespace(world: World) -> None:
    await apply(world, written(), build.instance("i", WRITTEN))

    instance = await world.until_complete("i")

    assert instance["status"]["lastRun"]["serviceAccountName"] == "default"


async def test_the_reconciler_writes_nothing_of_plans_as_itself(
    world: World, reconciler: Client
) -> None:
    there = build.config_map("c")
    with pytest.raises(Forbidden):
        await reconciler.create(CONFIG_MAPS, there, namespace=world.namespace)
    with pytest.raises(Forbidden):
        await reconciler.get(CONFIG_MAPS, "c", namespace=world.namespace)
    with pytest.raises(Forbidden):
        await reconciler.create(INSTANCES, build.instance("i", WRITTEN), namespace=world.namespace)


async def test_its_account_acts_as_tenants_in_their_namespace_and_nowhere_else(
    world: World, release: Release, admin: Client, reconciler: Client
) -> None:
    identity = Identity.service_account(world.namespace, "default")
    other = await new_namespace(admin)
    who = f"--serviceaccount={world.namespace}:default"
    bound = ("create", "rolebinding", "admin", "--clusterrole=admin", who, f"--namespace={other}")
    release.site.kubectl(*bound)
    tenant = admin.acting(identity)

    async def made(client: Client, namespace: str) -> bool:
        try:
            await client.create(CONFIG_MAPS, build.config_map("c"), namespace=namespace)
        except Forbidden:
            return False
        return True

    acting = reconciler.acting(identity)
    # The API server learns of bindings a moment later.
    await wait_until(lambda: made(acting, world.namespace), lambda: "its own namespace")
    await wait_until(lambda: made(tenant, other), lambda: "the tenant's right in the other one")

    with pytest.raises(Forbidden, match="cannot impersonate"):
        await acting.delete(CONFIG_MAPS, "c", namespace=other)
    stranger = reconciler.acting(Identity.service_account(other, "default"))
    with pytest.raises(Forbidden, match="cannot impersonate"):
        await stranger.get(CONFIG_MAPS, "c", namespace=other)
    ours = reconciler.acting(Identity.service_account(NAMESPACE, "kudo-webhook"))
    with pytest.raises(Forbidden, match="cannot impersonate"):
        await ours.list(CONFIG_MAPS, namespace=NAMESPACE)


async def test_a_namespace_without_a_binding_is_told_what_to_do_and_its_plan_goes_on_with_it(
    world: World, release: Release
) -> None:
    unbound = await new_namespace(world.client)
    tenant = World(world.installation, world.client, unbound)
    await apply(tenant, written(), build.instance("i", WRITTEN))
    advice = f"kubectl kudo rbac --namespace {unbound}"

    waiting = await tenant.until(
        "i", lambda i: advice in instances.messages(i, "deploy"), "the missing binding"
    )
    assert "cannot impersonate" in instances.messages(waiting, "deploy")

    release.allow_tenant(unbound)
    await tenant.until_complete("i")
