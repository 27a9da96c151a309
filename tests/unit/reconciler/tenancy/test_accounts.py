"""Which account the requests of plans go out as, and what Instances say if that is not possible."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from kubeio.types import JsonObject
from kudo_reconciler.settings import Settings
from tests.support import build
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError
from tests.support.instance_admission import RECONCILER
from tests.unit.reconciler.scenes.scene import (
    CONFIG_MAPS,
    GOES,
    ROLES,
    STRICT,
    Refusing,
    Scene,
    of_kind,
    play,
    role,
    version,
)

ANNOTATION = "kudo.dev/service-account"
CORE = "/api/v1/namespaces/ns"


@dataclass
class Rights:
    """Refuses requests as RBAC does, and notes who sent which.

    Attributes:
        refused: Whether a request is refused.
        users: Who sent requests for ConfigMaps of the namespace, in order.
    """

    refused: Callable[[Request], bool] = lambda _: False
    users: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> None:
        if request.path.startswith(f"{CORE}/configmaps"):
            self.users.append(request.user)
        if self.refused(request):
            plural = "configmaps" if "configmaps" in request.path else "objects"
            text = (
                f'{plural} is forbidden: User "{request.user}" cannot patch resource "{plural}" in '
                'API group "" in the namespace "ns"'
            )
            raise StatusError(403, "Forbidden", text)


def user(name: str) -> str:
    return f"system:serviceaccount:ns:{name}"


def rights(scene: Scene, refused: Callable[[Request], bool] = lambda _: False) -> Rights:
    found = Rights(refused)
    scene.life.cluster.server.authorize = found
    return found


async def account(scene: Scene, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    await scene.admin.raw("POST", f"{CORE}/serviceaccounts", body=body)


async def default(scene: Scene, name: str | None) -> None:
    """Annotate the Namespace."""
    patch = {"metadata": {"annotations": {ANNOTATION: name}}}
    await scene.admin.raw("PATCH", CORE, body=patch, content_type="application/merge-patch+json")


def recorded(scene: Scene, name: str = "i") -> str | None:
    stored = scene.life.observed.instance(name)
    assert stored is not None
    found: str | None = stored["status"]["lastRun"].get("serviceAccountName")
    return found


def stored_message(scene: Scene) -> str:
    """Return the message of the first step of deploy; empty before there is one."""
    stored = scene.life.observed.instance("i") or {}
    entry = stored.get("status", {}).get("planStatus", {}).get("deploy", {})
    phases = entry.get("phases") or [{}]
    return str((phases[0].get("steps") or [{}])[0].get("message", ""))


def applying(**plans: list[str]) -> JsonObject:
    return version(of_kind("ConfigMap", "c", "a"), **(plans or {"deploy": ["apply"]}))


async def create(scene: Scene, of: JsonObject, **spec: object) -> None:
    await scene.life.put_version(of)
    await scene.life.user.create("i", {}, dict(spec))


async def until_says(scene: Scene, text: str) -> None:
    await scene.until(lambda: text in stored_message(scene))


@pytest.mark.parametrize("options", [(), (STRICT,)])
def test_what_a_plan_sends_goes_out_as_the_account_that_the_instance_names(
    options: tuple[str, ...],
) -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await account(scene, "bob")
        await create(scene, applying(), serviceAccountName="bob")
        await scene.until_idle("i")
        assert set(found.users) == {user("bob")}
        assert recorded(scene) == "bob"

    play(body, *options)


def test_in_compat_a_plan_acts_as_the_reconciler_and_nothing_is_asked_about_accounts() -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await default(scene, "bob")
        await create(scene, applying())
        await scene.until_idle("i")
        assert set(found.users) == {RECONCILER}
        assert recorded(scene) is None
        assert not [one for one in scene.network.seen if "serviceaccounts" in one.path]
        # The end of an Instance and its discovery list cluster-scoped kinds; nothing reads one.
        assert not [one for one in scene.network.seen if one.path == CORE]

    play(body)


@pytest.mark.parametrize(("named", "acts"), [(None, "default"), ("bob", "bob")])
def test_in_strict_the_namespace_names_the_account(named: str | None, acts: str) -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await account(scene, acts)
        await default(scene, named)
        await create(scene, applying())
        await scene.until_idle("i")
        assert set(found.users) == {user(acts)}
        assert recorded(scene) == acts

    play(body, STRICT)


def test_an_account_whose_event_is_late_is_read_once() -> None:
    async def body(scene: Scene) -> None:
        await asyncio.sleep(5)
        scene.network.late["serviceaccounts"] = 100.0
        await account(scene, "default")
        await create(scene, applying())
        await scene.until_idle("i")
        assert len(scene.network.sent("GET", "serviceaccounts")) == 2  # the list, and one read

    play(body, STRICT)


@pytest.mark.parametrize("options", [(), (STRICT,)])
def test_a_plan_waits_for_an_account_and_sends_nothing_before(options: tuple[str, ...]) -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await create(scene, applying(), serviceAccountName="bob")
        await until_says(scene, "ServiceAccount bob does not exist in namespace ns: create it")
        assert "spec.serviceAccountName" in stored_message(scene)
        assert stored_message(scene).startswith("A transient error when executing task deploy.")
        await asyncio.sleep(100)
        asked = len(scene.network.sent("GET", "serviceaccounts"))
        await asyncio.sleep(100)
        # It backs off.
        assert len(scene.network.sent("GET", "serviceaccounts")) - asked <= 4
        assert found.users == []
        await account(scene, "bob")
        await scene.until_idle("i")
        assert set(found.users) == {user("bob")}

    play(body, *options)


def test_an_annotation_that_is_no_name_is_told_and_can_be_corrected() -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await account(scene, "bob")
        await default(scene, "Bob:x\nImpersonate-Group: y")
        await create(scene, applying())
        await until_says(scene, "cannot be the name of a service account: correct the annotation")
        assert found.users == []
        assert recorded(scene) is None
        await default(scene, "bob")
        await scene.until_idle("i")
        assert set(found.users) == {user("bob")}
        assert recorded(scene) == "bob"

    play(body, STRICT)


async def restart(scene: Scene, *options: str) -> None:
    """End the process of the reconciler; the next one has these options."""
    scene.life.settings = Settings.read(options, {})
    before = scene.life.replicas[0]
    await scene.life.crash(0)
    await asyncio.sleep(60)
    assert before not in scene.life.replicas


def test_a_run_keeps_its_account_when_the_default_changes_and_the_reconciler_starts_anew() -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await account(scene, "old")
        await account(scene, "new")
        await default(scene, "old")
        steps = build.serial(["apply"], ["fails"])
        of = applying(deploy=["apply"], other=["apply"])
        of["spec"]["plans"]["deploy"] = steps
        await create(scene, of)
        await scene.until(lambda: bool(scene.stored(CONFIG_MAPS, "c")))
        await asyncio.sleep(20)
        assert recorded(scene) == "old"
        await default(scene, "new")
        await restart(scene, STRICT)
        assert recorded(scene) == "old"
        await restart(scene)
        assert recorded(scene) == "old"
        await restart(scene, STRICT)
        await scene.life.user.change("i", {"run": "cancel"})
        await scene.until_idle("i")
        found.users.clear()
        await scene.run("i", "other")
        assert set(found.users) == {user("new")}
        assert recorded(scene) == "new"

    play(body, STRICT)


def test_a_run_that_began_in_compat_goes_on_as_an_account_in_strict_and_keeps_that() -> None:
    async def body(scene: Scene) -> None:
        await account(scene, "one")
        await default(scene, "one")
        of = applying(deploy=["apply"])
        of["spec"]["plans"]["deploy"] = build.serial(["apply"], ["fails"])
        await create(scene, of)
        await scene.until(lambda: bool(scene.stored(CONFIG_MAPS, "c")))
        await asyncio.sleep(20)
        assert recorded(scene) is None
        await restart(scene, STRICT)
        assert recorded(scene) == "one"
        await default(scene, "two")
        await restart(scene, STRICT)
        assert recorded(scene) == "one"

    play(body)


@pytest.mark.parametrize("options", [(), (STRICT,)])
def test_nobody_is_impersonated_in_the_namespace_of_the_lease(options: tuple[str, ...]) -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await account(scene, "bob")
        await create(scene, applying(), serviceAccountName="bob")
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert "nobody is impersonated in namespace ns" in scene.message("i", "deploy")
        assert scene.told("NamespaceReserved")
        assert found.users == []

    play(body, "--lease-namespace=ns", *options)


def test_a_run_whose_cancellation_is_taken_back_does_not_act_as_the_reconciler() -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene)
        await account(scene, "default")
        network = Refusing(scene.life.rng, 0.0)
        network.refused = lambda sent: sent.path.endswith("/instances/i/status")
        scene.life.replicas[0].process.transports[0].network = network
        of = applying()
        of["spec"]["plans"]["deploy"] = build.serial(["apply"], ["done"])
        await create(scene, of)
        await asyncio.sleep(10)
        await scene.life.user.change("i", {"run": "cancel"})
        await asyncio.sleep(10)
        assert scene.told("PlanCancelled")
        scene.life.admission.mutating = scene.life.admission.validating = False
        await scene.life.user.set("i", {"planExecution": {"status": None}})
        await asyncio.sleep(10)
        network.refused = lambda _: False
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert set(found.users) == {user("default")}
        assert recorded(scene) == "default"

    play(body, STRICT, sort="webhooks missing")


def test_what_is_done_stays_recorded_while_the_account_is_missing() -> None:
    async def body(scene: Scene) -> None:
        await account(scene, "bob")
        waits = {"deploy": ["apply", "fails", "done"]}
        await create(scene, applying(**waits), serviceAccountName="bob")
        await until_says(scene, "dummy error")
        await scene.admin.raw("DELETE", f"{CORE}/serviceaccounts/bob")
        await until_says(scene, "ServiceAccount bob does not exist")
        [step] = scene.entry("i", "deploy")["phases"][0]["steps"]
        states = {task["name"]: task["status"] for task in step["tasks"]}
        assert states == {"apply": "COMPLETE", "fails": "ERROR", "done": "COMPLETE"}

    play(body, STRICT)


def test_a_missing_account_is_not_told_during_a_pause() -> None:
    async def body(scene: Scene) -> None:
        await account(scene, "bob")
        waits = {"deploy": ["apply", "fails"]}
        await create(scene, applying(**waits), serviceAccountName="bob")
        await until_says(scene, "dummy error")
        await scene.life.user.set("i", {"suspend": True})
        await asyncio.sleep(5)
        before = stored_message(scene)
        await scene.admin.raw("DELETE", f"{CORE}/serviceaccounts/bob")
        await asyncio.sleep(300)
        assert stored_message(scene) == before
        await scene.life.user.set("i", {"suspend": False})
        await until_says(scene, "ServiceAccount bob does not exist")

    play(body, STRICT)


def test_a_right_that_is_missing_is_told_with_what_to_do_and_the_step_waits_for_it() -> None:
    async def body(scene: Scene) -> None:
        found = rights(scene, lambda sent: sent.user == user("default") and sent.method == "PATCH")
        await account(scene, "default")
        await create(scene, applying())
        await until_says(scene, f'User "{user("default")}" cannot patch resource "configmaps"')
        assert "`kubectl kudo rbac --instance NAME -n ns`" in stored_message(scene)
        assert "KUDO's reconciler" not in stored_message(scene)
        found.refused = lambda _: False
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    play(body, STRICT)


@pytest.mark.parametrize("options", [(), (STRICT,)])
@pytest.mark.parametrize("lost", ["account", "rights"])
def test_a_cleanup_ends_in_a_namespace_that_is_deleted_without_its_account_or_rights(
    options: tuple[str, ...], lost: str
) -> None:
    async def body(scene: Scene) -> None:
        await account(scene, "bob")
        plans = applying(deploy=["apply"], cleanup=["delete"])
        await create(scene, plans, serviceAccountName="bob")
        await scene.until_idle("i")
        if lost == "rights":
            rights(scene, lambda sent: sent.user == user("bob"))
        else:
            await scene.admin.raw("DELETE", f"{CORE}/serviceaccounts/bob")
        # What was found a moment ago counts as there.
        await asyncio.sleep(10)
        await scene.life.user.delete("i")
        await asyncio.sleep(100)
        assert scene.life.observed.instance("i") is not None
        await scene.admin.raw("DELETE", CORE)
        await asyncio.sleep(200)
        assert scene.life.observed.instance("i") is None

    play(body, *options)


async def _gone(scene: Scene) -> None:
    await scene.admin.raw("DELETE", f"{CORE}/serviceaccounts/bob")


def _unwatched(sent: Request) -> bool:
    """Whether the reconciler asks for ClusterRoles, for which it has no right in strict."""
    return sent.user == RECONCILER and sent.path.endswith("/clusterroles")


async def _may_not_list(scene: Scene) -> None:
    rights(scene, lambda sent: sent.user == user("bob") or _unwatched(sent))


async def _may_not_delete(scene: Scene) -> None:
    rights(scene, lambda sent: sent.user == user("bob") and sent.method != "GET")


@pytest.mark.parametrize(
    ("lose", "says"),
    [
        (_gone, "ServiceAccount bob does not exist"),
        (_may_not_list, "bob may not release ClusterRole role"),
    ],
)
@pytest.mark.parametrize("options", [(), (STRICT,)])
def test_a_release_that_is_not_possible_is_told_and_keeps_no_instance(
    options: tuple[str, ...], lose: Callable[[Scene], Awaitable[None]], says: str
) -> None:
    async def body(scene: Scene) -> None:
        rights(scene, _unwatched)
        await account(scene, "bob")
        of = version(role(**GOES), deploy=["apply"])
        await create(scene, of, serviceAccountName="bob")
        await scene.until_idle("i")
        await lose(scene)
        await asyncio.sleep(10)
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is not None
        [text] = scene.told("ClusterResourcesNotReleased")
        assert says in text

    play(body, *options)


def test_an_object_that_the_account_may_not_delete_is_named() -> None:
    async def body(scene: Scene) -> None:
        await account(scene, "bob")
        of = version(role(**GOES), deploy=["apply"])
        await create(scene, of, serviceAccountName="bob")
        await scene.until_idle("i")
        await _may_not_delete(scene)
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert "ClusterRole role" in scene.told("ClusterResourcesKept")[0]

    play(body, STRICT)


def test_an_object_that_others_share_and_that_the_account_may_not_change_is_named() -> None:
    async def body(scene: Scene) -> None:
        await account(scene, "bob")
        of = version(role(**GOES), deploy=["apply"])
        await create(scene, of, serviceAccountName="bob")
        await scene.until_idle("i")
        await scene.life.user.create("j", {}, {"serviceAccountName": "bob"})
        await scene.until_idle("j")
        await _may_not_delete(scene)
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        [text] = scene.told("ClusterResourcesNotReleased")
        assert f"{user('bob')} may not release ClusterRole role" in text

    play(body, STRICT)


def test_in_strict_a_sharer_that_is_gone_is_left_where_the_reconciler_has_no_right() -> None:
    async def body(scene: Scene) -> None:
        await account(scene, "default")
        # No finalizer: the object stays, and its annotation is cleaned after the end.
        await create(scene, version(role(), deploy=["apply"]))
        await scene.until_idle("i")
        found = rights(scene, lambda sent: sent.user == RECONCILER and sent.path.endswith("/role"))
        await scene.delete("i")
        asked = sum(replica.reconciles for replica in scene.life.replicas)
        await asyncio.sleep(600)
        assert sum(replica.reconciles for replica in scene.life.replicas) == asked
        assert scene.sharing() == ["i"]
        assert found.users == []

    play(body, STRICT)
