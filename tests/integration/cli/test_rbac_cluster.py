"""`kubectl kudo rbac` and `install --create-service-account` on a real API server with RBAC."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.discovery import Discovery
from kubeio.errors import Forbidden
from kubeio.resource import ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from tests.integration.cli.packages import write_package
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.commands import Done, run
from tests.support.cluster.resources import INSTANCES, OPERATORS, VERSIONS
from tests.support.cluster.world import World

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RBAC = "rbac.authorization.k8s.io"
ROLE = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "Role",
    "metadata": {"name": "reader"},
    "rules": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]}],
}
BINDING = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "viewers"},
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
    "subjects": [{"kind": "User", "apiGroup": RBAC, "name": "somebody"}],
}


async def as_admin(world: World, *arguments: str, text: str | None = None) -> Done:
    """Run kubectl or `kubectl kudo` as the administrator, by the first word."""
    cluster = world.installation.cluster
    program, *rest = arguments
    path = str(cluster.binary("kubectl"))
    if program == "kudo":
        path = str(Path(sys.executable).with_name("kubectl-kudo"))
    flags = [f"--kubeconfig={cluster.kubeconfig('admin')}", f"--namespace={world.namespace}"]
    return await run([path, *flags, *(rest if program == "kudo" else arguments)], text=text)


def package(folder: Path, *objects: Json) -> Path:
    return write_package(
        folder / "web",
        name="web",
        operatorVersion="0.1.0",
        tasks=[build.task("app", "Apply", "app.yaml")],
        plans={"deploy": build.plan({"app": ["app"]})},
        templates={"app": build.template(*objects)},
    )


def account(world: World, admin: Client, name: str = "cook") -> Client:
    return admin.acting(Identity(f"system:serviceaccount:{world.namespace}:{name}"))


async def apply_all(client: Client, admin: Client, world: World, objects: list[Json]) -> None:
    """Apply objects as a task does, and again."""
    discovery = Discovery(admin)
    for obj in objects * 2:
        target = {**obj, "metadata": {**obj["metadata"], "namespace": world.namespace}}
        kind = await discovery.for_object(obj)
        made = await client.apply(kind, target, field_manager="kudo", force=True)
        await client.get(kind, made["metadata"]["name"], namespace=world.namespace)


async def rendered(world: World, folder: Path, *arguments: str) -> list[Json]:
    """Return the objects of all Apply and Toggle tasks of a package."""
    plans = yaml.safe_load((folder / "operator.yaml").read_text())["plans"]
    found: list[Json] = []
    for plan in plans:
        argv = ("package", "render", str(folder), "--plan", plan, "-o", "json", *arguments)
        done = await world.kudo(*argv)
        assert done.code == 0, done.output
        found += [one["object"] for one in json.loads(done.stdout) if one["kind"] in APPLYING]
    return found


APPLYING = {"Apply", "Toggle"}
FOLDERS = ["first-operator", "lifecycle/v1", "lifecycle/v2", "parent-child", "pipe-page"]


@pytest.mark.parametrize("name", FOLDERS)
async def test_an_account_with_the_printed_rights_applies_what_an_example_renders(
    world: World, admin: Client, name: str
) -> None:
    folder = EXAMPLES / name
    printed = await world.kudo("rbac", str(folder), "--service-account", "cook")
    assert printed.code == 0, printed.output
    objects = await rendered(world, folder)
    assert objects
    with pytest.raises(Forbidden):
        await apply_all(account(world, admin), admin, world, objects[:1])
    applied = await as_admin(world, "apply", "-f", "-", text=printed.stdout)
    assert applied.code == 0, applied.output
    await apply_all(account(world, admin), admin, world, objects)


async def test_an_account_with_the_printed_rights_hands_out_what_templates_grant(
    world: World, admin: Client, tmp_path: Path
) -> None:
    folder = package(tmp_path, ROLE, BINDING)
    printed = await world.kudo("rbac", str(folder), "--service-account", "cook")
    applied = await as_admin(world, "apply", "-f", "-", text=printed.stdout)
    assert applied.code == 0, applied.output
    cook = account(world, admin)
    await apply_all(cook, admin, world, [ROLE, BINDING])
    more = {**ROLE, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}
    with pytest.raises(Forbidden):
        await apply_all(cook, admin, world, [more])


async def test_what_is_printed_can_be_applied_again(world: World, tmp_path: Path) -> None:
    folder = package(tmp_path, build.config_map("page"))
    printed = await world.kudo("rbac", str(folder), "--service-account", "cook")
    for _ in range(2):
        done = await as_admin(world, "apply", "-f", "-", text=printed.stdout)
        assert done.code == 0, done.output
    assert done.stdout.count("unchanged") == 3


async def test_check_lists_what_is_lacking_until_it_is_given(world: World, tmp_path: Path) -> None:
    folder = package(tmp_path, build.config_map("page"))
    done = await world.kudo("install", str(folder), "--instance", "web", "--wait")
    assert done.code == 0, done.output
    argv = ("kudo", "rbac", "--instance", "web", "--service-account", "cook")
    before = await as_admin(world, *argv, "--check", "-o", "json")
    assert before.code == 1, before.output
    (found,) = json.loads(before.stdout)
    assert "service account cook: it does not exist" in found["lacks"]
    assert "create,get,patch configmaps" in found["lacks"]
    printed = await as_admin(world, *argv)
    await as_admin(world, "apply", "-f", "-", text=printed.stdout)
    after = await as_admin(world, *argv, "--check", "-o", "json")
    (found,) = json.loads(after.stdout)
    # Whether KUDO may act as the account depends on the installation.
    assert [text for text in found["lacks"] if not text.startswith("impersonation")] == []


async def test_who_may_not_ask_is_told(world: World, tmp_path: Path) -> None:
    folder = package(tmp_path, build.config_map("page"))
    done = await world.kudo("install", str(folder), "--instance", "web")
    assert done.code == 0, done.output
    asked = await world.kudo("rbac", "--check")
    assert asked.code == 4, asked.output
    assert "you lack the right to create localsubjectaccessreviews" in asked.stderr


async def test_install_creates_the_account_with_its_rights(world: World, tmp_path: Path) -> None:
    folder = package(tmp_path, build.config_map("page"))
    argv = ("kudo", "install", str(folder), "--instance", "web", "--create-service-account")
    for mode in ("client", "server"):
        dry = await as_admin(world, *argv, f"--dry-run={mode}")
        assert dry.code == 0, dry.output
        assert "kudo-web created" in dry.stdout
    absent = await as_admin(world, "get", "role", "kudo-web")
    assert absent.code == 1, absent.output
    done = await as_admin(world, *argv)
    assert done.code == 0, done.output
    assert (await world.instance("web"))["spec"]["serviceAccountName"] == "web"
    again = await as_admin(world, *argv, "--upgrade")
    assert again.code == 0, again.output
    for kind, name in ((SERVICE_ACCOUNTS, "web"), (ROLES, "kudo-web"), (ROLE_BINDINGS, "kudo-web")):
        found = await as_admin(world, "get", kind.plural, name, "-o", "name")
        assert found.code == 0, found.output


async def test_who_may_not_give_the_rights_creates_nothing(world: World, tmp_path: Path) -> None:
    folder = package(tmp_path, build.config_map("page"))
    argv = ("install", str(folder), "--instance", "web", "--create-service-account")
    done = await world.kudo(*argv)
    assert done.code == 4, done.output
    assert "you cannot give account web its rights" in done.stderr
    for kind in (OPERATORS, VERSIONS, INSTANCES):
        assert await world.all(kind) == []


async def test_a_tenant_gives_no_more_than_they_have(
    world: World, admin: Client, tmp_path: Path
) -> None:
    """A user who may write Roles and ServiceAccounts, but nothing that the package applies."""
    # Not `*`: that contains `escalate` and `bind`.
    verbs = ["get", "create", "patch", "delete"]
    rules = [
        {"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["*"]},
    ]
    metadata = {"name": "boss", "namespace": world.namespace}
    boss = {"apiVersion": f"{RBAC}/v1", "metadata": metadata}
    await admin.create(ROLES, {**boss, "kind": "Role", "rules": rules})
    subject = {"kind": "User", "apiGroup": RBAC, "name": "kudo-user"}
    reference = {"kind": "Role", "apiGroup": RBAC, "name": "boss"}
    bound = {**boss, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]}
    await admin.create(ROLE_BINDINGS, bound)
    folder = package(tmp_path, build.config_map("page"))
    argv = ("install", str(folder), "--instance", "web", "--create-service-account")
    done = await world.kudo(*argv)
    assert done.code == 4, done.output
    assert "attempting to grant RBAC permissions not currently held" in done.stderr
    assert await world.all(VERSIONS) == []
    found = await as_admin(world, "get", "serviceaccount", "web")
    assert found.code == 1, found.output
