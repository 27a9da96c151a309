"""`get objects`, `prune` and `uninstall` on a real API server, by the record of the reconciler."""

import json
import re

import pytest

from tests.support import build
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World

_CLASSES = "priorityclasses"


def _priority(name: str) -> Json:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": name}, "value": 7}


@pytest.fixture(autouse=True)
async def granted(world: World) -> None:
    """Let the reconciler write PriorityClasses, and the user read them."""
    name, group = "test-get-objects", "rbac.authorization.k8s.io"
    rules = [
        {
            "apiGroups": ["scheduling.k8s.io"],
            "resources": [_CLASSES],
            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
        }
    ]
    users = ("kudo-reconciler", "kudo-user")
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user} for user in users],
    }
    admin = world.installation.cluster.kubeconfig("admin")
    objects = build.as_list([{**role, "rules": rules}, binding])
    ok(await world.kubectl(f"--kubeconfig={admin}", "apply", "-f", "-", text=objects))


def _version(name: str) -> Json:
    extra = build.template(build.config_map("{{ .Name }}-extra", a="1"))
    return build.operator_version(
        "shop-1",
        templates={
            "app.yaml": build.template(build.deployment("{{ .Name }}")),
            "extra.yaml": f'{{{{ if eq .Params.EXTRA "yes" }}}}\n{extra}\n{{{{ end }}}}\n',
            "priority.yaml": build.template(_priority(name)),
        },
        plans={"deploy": build.plan({"all": ["app", "extra", "priority"]})},
        parameters=[build.parameter("EXTRA", "yes")],
        operator="shop",
    )


@pytest.fixture
async def shop(world: World) -> World:
    """Return a namespace with an Instance whose second run has dropped a ConfigMap."""
    applied = await world.apply(_version(world.namespace), build.instance("web", "shop-1"))
    assert applied.code == 0, applied.output
    await world.until_complete("web")
    ok(await world.kudo("update", "--instance", "web", "-p", "EXTRA=no", "--wait"))
    await world.until("web", lambda obj: bool(obj["status"].get("orphans")), "an orphan")
    return world


def ok(command: Done) -> str:
    assert command.code == 0, command.output
    return command.stdout


async def test_objects_are_shown_by_plan_and_task_with_their_health(shop: World) -> None:
    out = ok(await shop.kudo("get", "objects", "--instance", "web"))
    text = re.sub(r"(?<=, )\d+s", "AGE", out.replace("\N{NO-BREAK SPACE}", " "))
    assert text.splitlines() == [
        f"instance {shop.namespace}/web: 3 objects, 1 of them an orphan",
        "└── plan deploy",
        "    ├── task app",
        "    │   └── Deployment/web (healthy, AGE)",
        "    ├── task extra",
        "    │   └── ConfigMap/web-extra (healthy, AGE, orphan)",
        "    └── task priority",
        f"        └── PriorityClass/{shop.namespace} (healthy, AGE, cluster-scoped)",
    ]
    data = json.loads(ok(await shop.kudo("get", "objects", "--instance", "web", "-o", "json")))
    (extra,) = (obj for obj in data if obj["kind"] == "ConfigMap")
    live = await shop.get(CONFIG_MAPS, "web-extra")
    assert extra["metadata"]["uid"] == live["metadata"]["uid"]
    assert "Orphans:" in ok(await shop.kudo("describe", "instance", "web"))


async def test_prune_tells_what_it_would_delete(shop: World) -> None:
    for mode in ("client", "server"):
        out = ok(await shop.kudo("prune", "--instance", "web", f"--dry-run={mode}"))
        assert out.startswith(
            f"orphans of instance {shop.namespace}/web to delete:\n"
            f"  ConfigMap {shop.namespace}/web-extra (deploy/extra)\n"
            f"Requested prune of {shop.namespace}/web instance ("
        )
    assert await shop.find(CONFIG_MAPS, "web-extra") is not None
    ok(await shop.kudo("adopt", "--instance", "web", "--dry-run=server"))


async def test_uninstall_tells_what_stays_by_the_record(shop: World) -> None:
    ran = await shop.kudo("uninstall", "--instance", "web", "--wait")
    ok(ran)
    reason = 'without kudo.dev/delete-with-instance: "true"'
    assert (
        "Warning: these cluster-scoped objects stay in the cluster: PriorityClass "
        f"{shop.namespace} ({reason})\n"
    ) in ran.stderr
