"""Strict tenancy: orphans are read and deleted as the account, whose refusal says nothing of them.

The reconciler has no right on workloads itself.
"""

import time

import pytest

from kubeio.client import Client
from tests.integration.tenancy.conftest import ACCOUNT, admin_kubectl, strict
from tests.integration.tenancy.test_who_acts import OWNER, grant
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.clients import client_as
from tests.support.cluster.events import until_event
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World
from tests.support.world.forging import listed, without_reconciler
from tests.support.world.records import (
    INVENTORIES,
    PRUNE,
    SECRETS,
    change,
    config,
    configs,
    install,
    orphaned,
    record,
    request,
    secret,
    shards,
    uid_of,
    until_record,
    until_told,
    version,
)

__all__ = ["admin_kubectl", "strict"]

NOT_PRUNED = "ObjectsNotPruned"
DELETES = "deletes"
SECONDS = 60.0


@pytest.fixture
def kubectl(admin_kubectl: Kubectl) -> Kubectl:
    """Let the account apply ConfigMaps; a binding of its own lets it read and delete `i-b`."""
    grant(admin_kubectl, "create,patch", "configmaps")
    grant(admin_kubectl, "update", OWNER)
    for role, verbs, name in (("reads", "get", "i-a"), (DELETES, "get,delete", "i-b")):
        rule = (f"--verb={verbs}", "--resource=configmaps", f"--resource-name={name}")
        admin_kubectl("create", "role", role, *rule)
        bind(admin_kubectl, role)
    until(admin_kubectl, allowed=True)
    return admin_kubectl


def bind(kubectl: Kubectl, role: str) -> None:
    subject = f"--serviceaccount={kubectl.namespace}:{ACCOUNT}"
    kubectl("create", "rolebinding", role, f"--role={role}", subject)


def allow(kubectl: Kubectl) -> None:
    bind(kubectl, DELETES)
    until(kubectl, allowed=True)


def forbid(kubectl: Kubectl) -> None:
    kubectl("delete", "rolebinding", DELETES)
    until(kubectl, allowed=False)


def until(kubectl: Kubectl, *, allowed: bool) -> None:
    """Wait until the account may delete `i-b`, or may not any more."""
    user = f"--as=system:serviceaccount:{kubectl.namespace}:{ACCOUNT}"
    asked = ("auth", "can-i", "delete", "configmaps/i-b", user)
    deadline = time.monotonic() + SECONDS
    while (kubectl.run(*asked).returncode == 0) != allowed:
        assert time.monotonic() < deadline, f"delete i-b: not {allowed=}"


def dropping(*, prune: bool = False) -> Json:
    return version(
        "v1",
        {"task": [config("a"), config("b", only_if="B")]},
        parameters=[build.parameter("B", "yes")],
        prune=prune,
    )


async def test_what_may_not_be_read_is_unknown_and_never_gone(
    kubectl: Kubectl, world: World, admin: Client
) -> None:
    await install(world, dropping())
    assert set(await record(world)) == {"ConfigMap i-a", "ConfigMap i-b"}
    forbid(kubectl)
    await admin.delete(CONFIG_MAPS, "i-b", namespace=world.namespace)

    # It is an orphan for all that the account may know.
    await change(world, parameters={"B": "no"})
    await until_told(world, "ConfigMap i-b")
    await request(world, PRUNE)
    text = str((await until_event(world, NOT_PRUNED))["message"])
    account = f"system:serviceaccount:{world.namespace}:{ACCOUNT}"
    assert f'User "{account}" cannot get resource "configmaps"' in text
    assert orphaned(await record(world)) == {"ConfigMap i-b"}

    allow(kubectl)
    await request(world, PRUNE)
    await until_record(world, "ConfigMap i-a")
    await until_told(world)
    assert await world.events("ObjectsPruned") == []


async def test_what_may_not_be_deleted_stays_until_it_may(
    kubectl: Kubectl, world: World, admin: Client
) -> None:
    await install(world, dropping(prune=True))
    forbid(kubectl)
    ended = await change(world, parameters={"B": "no"})

    text = str((await until_event(world, NOT_PRUNED))["message"])
    assert f"ConfigMap {world.namespace}/i-b" in text
    assert 'resource "configmaps"' in text
    assert ended["status"]["planStatus"]["deploy"]["status"] == "COMPLETE"
    assert await uid_of(admin, CONFIG_MAPS, "i-b", world.namespace)

    allow(kubectl)
    await change(world, planExecution={"planName": "deploy", "uid": ""})
    await world.until_gone(CONFIG_MAPS, "i-b")
    await until_told(world)
    assert await configs(world) == {"i-a"}


async def test_a_tenant_learns_nothing_of_what_somebody_wrote_on_its_record(
    kubectl: Kubectl, world: World, admin: Client
) -> None:
    """The account may not read Secrets: one that exists and one that does not look the same."""
    await install(world, dropping(prune=True))
    await admin.create(SECRETS, secret("there", a="b"), namespace=world.namespace)
    kind = {"kind": "Secret", "resource": "secrets", "namespace": world.namespace}

    async def forge() -> None:
        [shard] = await shards(world)
        shard["objects"] += [listed(name, **kind) for name in ("there", "absent")]
        async with client_as(world, "reconciler") as forger:
            await forger.replace(INVENTORIES, shard)

    await without_reconciler(world, forge)
    await change(world, planExecution={"planName": "deploy", "uid": ""})

    text = str((await until_event(world, NOT_PRUNED))["message"])
    assert text.count("cannot get resource") == 2, text
    found = await until_told(world, "Secret there", "Secret absent")
    assert "uid" not in str(found["status"]["orphans"])
    assert await uid_of(admin, SECRETS, "there", world.namespace)
