"""Strict mode: kinds that are never watched, and how their objects are applied and waited for."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from kubeio.resource import SERVICE_ACCOUNTS, Resource
from kubeio.types import JsonObject
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import (
    COMPAT,
    CONFIG_MAPS,
    ROLES,
    SECRETS,
    STRICT,
    Scene,
    of_kind,
    play,
    role,
    version,
)

ACCOUNT = "deployer"
USER = f"system:serviceaccount:ns:{ACCOUNT}"
PLANS = {"deploy": ["apply"], "again": ["apply"], "remove": ["delete"]}
CONFIG_MAP = of_kind("ConfigMap", "{{ .Name }}", "{{ .Params.TEXT }}")
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Name }}"}
stringData: {a: "{{ .Params.TEXT }}"}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Name }}"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "{{ .Params.TEXT }}"}]}
"""


async def install(
    scene: Scene, name: str, of: JsonObject | None = None, account: str | None = ACCOUNT
) -> None:
    """Deploy an Instance that names an account."""
    if of is not None:
        await scene.life.put_version(of)
    await scene.life.user.create(name, {}, {"serviceAccountName": account})
    await scene.until_idle(name)
    await asyncio.sleep(10)


def strict(body: Callable[[Scene], Awaitable[None]]) -> None:
    async def begin(scene: Scene) -> None:
        await create_account(scene)
        await body(scene)

    play(begin, STRICT)


async def create_account(scene: Scene) -> None:
    account: JsonObject = {"metadata": {"name": ACCOUNT, "namespace": "ns"}}
    await scene.admin.create(SERVICE_ACCOUNTS, account)


def counted(scene: Scene, *without: str) -> Counter[str]:
    """Return how often each request was sent since the last call, watches and lists left out."""
    found = Counter(
        f"{one.method} {one.path.split('/namespaces/ns/')[-1].split('/')[0]}"
        for one in scene.network.seen
        if one.path.count("/") > 4 and "watch" not in one.query
    )
    scene.network.seen.clear()
    return Counter({key: count for key, count in found.items() if key.split()[1] not in without})


def lists(scene: Scene, resource: Resource) -> list[str]:
    """Return who listed or watched a kind."""
    paths = {resource.path(), resource.path("ns")}
    return [one.user for one in scene.network.seen if one.method == "GET" and one.path in paths]


@pytest.mark.parametrize("template", [CONFIG_MAP, SECRET, DEPLOYMENT], ids=["cm", "secret", "dep"])
def test_a_deploy_costs_as_many_requests_as_in_compat(template: str) -> None:
    def cost(mode: str, account: str | None, reviews: int) -> Counter[str]:
        found: Counter[str] = Counter()

        async def body(scene: Scene) -> None:
            scene.life.cluster.workloads.outcome = lambda _: Outcome()
            await create_account(scene)
            await install(scene, "first", version(template, **PLANS), account)
            await asyncio.sleep(100)
            scene.network.seen.clear()
            await install(scene, "i", account=account)
            assert scene.entry("i", "deploy")["status"] == "COMPLETE"
            assert len(scene.network.sent("POST", "selfsubjectaccessreviews")) == reviews
            found.update(counted(scene))

        play(body, mode)
        return found

    in_compat = cost(COMPAT, None, 0)
    assert cost(STRICT, ACCOUNT, int(template == DEPLOYMENT)) == in_compat
    assert sum(in_compat.values()) > 5


@pytest.mark.parametrize("template", [CONFIG_MAP, SECRET], ids=["cm", "secret"])
def test_an_update_costs_one_read_and_two_writes(template: str) -> None:
    async def body(scene: Scene) -> None:
        await install(scene, "i", version(template, **PLANS))
        counted(scene)
        await scene.life.user.change("i", {"parameters": {"TEXT": "two"}})
        await scene.until_idle("i")
        sent = counted(scene, "instances", "events", "operatorversions")
        kind = "secrets" if template == SECRET else "configmaps"
        # Secrets have no digest without a key of the installation.
        recorded = {} if template == SECRET else {"PUT inventories": 1}
        assert sent == {f"GET {kind}": 1, f"PATCH {kind}": 1, **recorded}

    strict(body)


def test_kinds_outside_the_set_are_never_listed() -> None:
    async def body(scene: Scene) -> None:
        for number, template in enumerate((CONFIG_MAP, SECRET, role("{{ .Name }}"))):
            of = version(template, **PLANS)
            await install(scene, f"i-{number}", of)
            await scene.run(f"i-{number}", "again")
            await scene.run(f"i-{number}", "remove")
        for resource in (CONFIG_MAPS, SECRETS, ROLES):
            assert lists(scene, resource) == []
            assert {one.user for one in scene.network.sent("PATCH", resource.plural)} == {USER}

    strict(body)


def test_what_exists_is_read_as_the_account_and_adopted() -> None:
    async def body(scene: Scene) -> None:
        made = {"metadata": {"name": "i", "namespace": "ns"}, "data": {"b": "theirs"}}
        await scene.admin.create(CONFIG_MAPS, made)
        await install(scene, "i", version(CONFIG_MAP, **PLANS))
        assert [one.user for one in scene.network.sent("GET", "configmaps")] == [USER]
        stored = scene.stored(CONFIG_MAPS, "i")
        assert stored is not None
        assert stored["data"] == {"a": "one", "b": "theirs"}
        assert len(scene.told("ObjectAdopted")) == 1

    strict(body)


def test_what_another_controller_owns_is_left_alone() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.collector.delay = lambda: 1e6
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs", "uid": "u"}
        metadata = {
            "name": "i",
            "namespace": "ns",
            "ownerReferences": [owner | {"controller": True}],
        }
        await scene.admin.create(CONFIG_MAPS, {"metadata": metadata})
        await install(scene, "i", version(CONFIG_MAP, **PLANS))
        assert "already owned by another Deployment controller" in scene.message("i", "deploy")
        stored = scene.stored(CONFIG_MAPS, "i")
        assert stored is not None
        assert "data" not in stored

    strict(body)


def test_who_shares_a_cluster_scoped_object_is_read_from_the_object() -> None:
    async def body(scene: Scene) -> None:
        await install(scene, "one", version(role(), **PLANS))
        await install(scene, "two")
        assert scene.sharing() == ["one", "two"]
        await scene.run("one", "again")
        assert scene.sharing() == ["one", "two"]

    strict(body)


def test_an_object_that_was_deleted_is_created_again() -> None:
    async def body(scene: Scene) -> None:
        await install(scene, "i", version(CONFIG_MAP, **PLANS))
        await scene.admin.delete(CONFIG_MAPS, "i", namespace="ns")
        await scene.run("i", "again")
        assert scene.stored(CONFIG_MAPS, "i") is not None

    strict(body)
