"""`kubectl kudo get` and `describe` on a real API server, compared with kubectl."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import as_admin
from tests.support.cluster.commands import Done
from tests.support.cluster.world import World

READER = "reader-of-one-namespace"
VERSION = build.operator_version(
    "pot-1",
    templates={
        "app.yaml": build.template(build.deployment("{{ .Name }}")),
        "settings.yaml": build.template(build.config_map("{{ .Name }}", size="{{ .Params.SIZE }}")),
    },
    plans={"deploy": build.plan({"all": ["app", "settings"]}), "rinse": build.plan({"r": []})},
    parameters=[
        build.parameter("SIZE", "small"),
        build.parameter("TOKEN", "none"),
        build.parameter("CUPS", "1"),
    ],
    operator="pot",
)


@pytest.fixture
async def installed(world: World) -> World:
    """Return a namespace with two Instances whose plan has run."""
    done = await world.apply(
        VERSION,
        build.instance("web", "pot-1", CUPS="2", TOKEN="hush"),
        build.instance("second", "pot-1"),
    )
    assert done.code == 0, done.output
    await world.until_complete("web")
    await world.until_complete("second")
    return world


def ok(command: Done) -> str:
    assert command.code == 0, command.output
    return command.stdout


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


async def test_tables_tell_operator_version_plan_and_readiness(installed: World) -> None:
    heading, *found = rows(ok(await installed.kudo("get", "instances", "-o", "table")))
    assert heading == [
        *("NAME", "OPERATOR", "VERSION", "LAST", "PLAN", "PLAN", "STATUS", "READY", "AGE"),
    ]
    assert [row[:-2] for row in found] == [
        ["second", "pot", "0.1.0", "deploy", "COMPLETE"],
        ["web", "pot", "0.1.0", "deploy", "COMPLETE"],
    ]
    everywhere = rows(ok(await installed.kudo("get", "instances", "-A")))
    assert [installed.namespace, *found[1][:4]] in [row[:5] for row in everywhere]
    named = ok(await installed.kudo("get", "instance", "web", "second", "-o", "name"))
    assert named == "instance.kudo.dev/web\ninstance.kudo.dev/second\n"


async def test_a_pipe_gets_the_tree_with_what_has_no_parent(installed: World) -> None:
    # BTO-60: both were invisible.
    deleted = await installed.kubectl("delete", "operatorversions.kudo.dev", "pot-1")
    assert deleted.code == 0, deleted.output
    tree = (ok(await installed.kudo("get", "all"))).splitlines()
    assert tree[1:] == [".", "└── pot-1 (missing)", "    ├── second", "    └── web", ""]


async def test_one_instance_is_described(installed: World) -> None:
    text = ok(await installed.kudo("describe", "instance", "web"))
    data: Json = json.loads(ok(await installed.kudo("describe", "instance", "web", "-o", "json")))

    assert {one["name"]: one["source"] for one in data["parameters"]} == {
        "SIZE": "default",
        "TOKEN": "set",
        "CUPS": "set",
    }
    assert "hush" not in text
    objects = {f"{one['kind']}/{one['name']}": one for one in data["objects"]}
    assert objects["Deployment/web"]["step"] == "deploy.phase1.all"
    assert objects["ConfigMap/web"]["owner"] == "Instance/web"
    assert {event["reason"] for event in data["events"]} >= {"PlanStarted", "PlanFinished"}
    assert {one["name"]: one["status"] for one in data["plans"]} == {
        "deploy": "COMPLETE",
        "rinse": "NEVER_RUN",
    }
    # The user may not read Secrets, and is told so.
    assert "secrets" in data["notListed"]
    assert "Not shown, since they could not be listed: " in text


async def test_a_user_of_one_namespace_needs_no_rights_in_the_cluster(
    installed: World, tmp_path: Path
) -> None:
    # BTO-6: the check of the CRDs needed the right to read them.
    kubeconfig = await _kubeconfig_of_reader(installed, tmp_path)
    forbidden = await installed.kubectl(f"--kubeconfig={kubeconfig}", "get", "crds")
    assert "forbidden" in forbidden.stderr

    listed = await installed.kudo("get", "instances", f"--kubeconfig={kubeconfig}", "-o", "name")

    assert ok(listed) == "instance.kudo.dev/second\ninstance.kudo.dev/web\n"
    table = ok(await installed.kudo("get", "ki", "web", f"--kubeconfig={kubeconfig}"))
    assert rows(table)[1][:3] == ["web", "pot", "<unknown>"]
    assert listed.stderr == ""


async def test_a_user_is_impersonated_with_its_groups(installed: World) -> None:
    # BTO-4: nobody could be impersonated.
    admin = f"--kubeconfig={installed.installation.cluster.kubeconfig('admin')}"
    denied = await installed.kudo("get", "operators", admin, "--as=nobody")
    assert (denied.code, denied.stdout) == (4, "")
    assert 'User "nobody" cannot list resource "operators"' in denied.stderr
    as_master = await installed.kudo(
        "get", "operators", admin, "--as=nobody", "--as-group=system:masters"
    )
    assert as_master.code == 0, as_master.output


async def _kubeconfig_of_reader(world: World, folder: Path) -> Path:
    """Let a user read the Instances of the namespace alone, and return its kubeconfig."""
    await as_admin(
        world, "create", "role", READER, "--verb=get,list", "--resource=instances.kudo.dev"
    )
    await as_admin(world, "create", "rolebinding", READER, f"--role={READER}", f"--user={READER}")
    config = yaml.safe_load(world.installation.cluster.kubeconfig("admin").read_text())
    for user in config["users"]:
        user["user"]["as"] = READER
    path = folder / "reader"
    path.write_text(yaml.safe_dump(config))
    return path
