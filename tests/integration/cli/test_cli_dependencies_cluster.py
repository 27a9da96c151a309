"""Packages that need others, and Instances that own others, on a real API server."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.packages import write_package
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, OPERATORS, VERSIONS
from tests.support.cluster.world import World

EXAMPLE = Path(__file__).parents[3] / "examples" / "parent-child"
APP = {"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}}


def child(name: str, package: str) -> Json:
    return {"name": name, "kind": "KudoOperator", "spec": {"package": package}}


def package(folder: Path, name: str, *tasks: Json, version: str = "0.1.0") -> Path:
    """Write a package whose deploy plan applies a ConfigMap; its other tasks run in `children`."""
    return write_package(
        folder,
        name=name,
        operatorVersion=version,
        tasks=[APP, *tasks],
        plans={
            "deploy": build.plan({"app": ["app"]}),
            "children": build.plan({task["name"]: [task["name"]] for task in tasks}),
        },
        templates={
            "app": build.template(build.config_map("{{ .Name }}", version="{{ .OperatorVersion }}"))
        },
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a package that needs a packed one, and through a neighbour one that is installed."""
    root = package(tmp_path / "shop", "shop", child("db", "./db"), child("cache", "../cache"))
    package(root / "db", "db")
    package(tmp_path / "cache", "cache", child("disk", "disk"))
    return root


async def names(world: World) -> list[str]:
    return sorted(version["metadata"]["name"] for version in await world.all(VERSIONS))


async def test_a_package_is_installed_with_all_that_it_needs(
    world: World, tmp_path: Path, shop: Path
) -> None:
    missing = await world.kudo("install", str(shop))
    assert "install it first (kubectl kudo install <its folder> --skip-instance" in missing.stderr
    assert await world.all(OPERATORS) == []

    disk = package(tmp_path / "disk", "disk", version="2.0.0")
    assert (await world.kudo("install", str(disk), "--skip-instance")).code == 0
    done = await world.kudo("install", str(shop), "--instance", "web", "--wait")
    assert done.code == 0, done.output
    assert await names(world) == ["cache-0.1.0", "db-0.1.0", "disk-2.0.0", "shop-0.1.0"]
    tasks = (await world.get(VERSIONS, "cache-0.1.0"))["spec"]["tasks"]
    assert tasks[1]["spec"] == {"package": "disk", "operatorVersion": "2.0.0"}

    again = await world.kudo("install", str(shop), "--skip-instance")
    assert again.stdout == f"operatorversion {world.namespace}/shop-0.1.0 already installed\n"


async def test_upgrade_brings_the_new_version_of_a_dependency(world: World, tmp_path: Path) -> None:
    old = package(tmp_path / "old", "shop", child("db", "./db"))
    package(old / "db", "db")
    new = package(tmp_path / "new", "shop", child("db", "./db"), version="0.2.0")
    package(new / "db", "db", version="0.2.0")
    await world.kudo("install", str(old), "--instance", "web", "--wait")

    done = await world.kudo("upgrade", str(new), "--instance", "web", "--wait")

    assert done.stdout.splitlines() == [
        f"operatorversion {world.namespace}/db-0.2.0 created",
        f"operatorversion {world.namespace}/shop-0.2.0 created",
        f"instance {world.namespace}/web updated",
        "version: 0.1.0 → 0.2.0; plan deploy runs",
        f"instance {world.namespace}/web ready",
    ]


async def test_children_are_shown_with_their_parent_and_go_with_it(
    world: World, tmp_path: Path
) -> None:
    root = package(tmp_path / "shop", "shop", child("db", "./db"))
    package(root / "db", "db")
    await world.kudo("install", str(root), "--instance", "web", "--wait")
    owner = (await world.instance("web"))["metadata"]["uid"]
    made = build.instance("web-db", "db-0.1.0")
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "web", "uid": owner}
    ]
    await world.client.create(INSTANCES, made, namespace=world.namespace)
    await world.until_complete("web-db")

    shown = await world.kudo("plan", "status", "--instance", "web")
    assert '    └── web-db (Operator-Version: "db-0.1.0" Active-Plan: "deploy")' in shown.stdout
    data = json.loads(
        (await world.kudo("plan", "status", "--instance", "web", "-o", "json")).stdout
    )
    assert data["children"][0]["status"]["planStatus"]["deploy"]["status"] == "COMPLETE"

    gone = await world.kudo("uninstall", "--instance", "web")
    assert gone.stderr == "these instances are deleted with it: web-db\n"
    await world.until_gone(INSTANCES, "web-db")


async def test_the_example_shows_three_generations_and_takes_them_along(world: World) -> None:
    done = await world.kudo("install", str(EXAMPLE), "--instance", "paper", "--wait")
    assert done.code == 0, done.output

    shown = await world.kudo("plan", "status", "--instance", "paper")
    lines = [line.replace("\u00a0", " ") for line in shown.stdout.splitlines()]
    depth = {
        name: next(line.index(name) for line in lines if f"── {name} (" in line)
        for name in ("paper", "paper-newsroom", "paper-newsroom-weather")
    }
    assert depth["paper"] < depth["paper-newsroom"] < depth["paper-newsroom-weather"], shown.stdout
    assert "NEVER_RUN" not in shown.stdout

    kept = await world.kudo("uninstall", "--all-unused", "--yes")
    assert kept.stdout.startswith("no operator or operatorversion is unused"), kept
    gone = await world.kudo("uninstall", "--instance", "paper", "--wait")
    assert gone.code == 0, gone
    assert (
        "these instances are deleted with it: paper-newsroom, paper-newsroom-weather" in gone.stderr
    )
    assert gone.stdout.endswith("instance.kudo.dev/v1beta1/paper-newsroom-weather deleted\n")
    assert await world.all(INSTANCES) == []

    unused = await world.kudo("uninstall", "--all-unused", "--yes")
    assert unused.code == 0, unused
    assert (await world.all(VERSIONS), await world.all(OPERATORS)) == ([], [])


async def test_an_administrator_sees_no_warning_about_kinds(world: World, tmp_path: Path) -> None:
    root = package(tmp_path / "shop", "shop")
    await world.kudo("install", str(root), "--instance", "web", "--wait")
    admin = world.installation.cluster.kubeconfig("admin")
    # The server warns of ComponentStatus when it is listed; the user of the tests may not.
    gone = await world.kudo("uninstall", "--instance", "web", f"--kubeconfig={admin}")
    assert (gone.code, gone.stderr) == (0, "")
