"""`install --upgrade --replace-version` and downgrades, on a real cluster."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.packages import write_package
from tests.support import build
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, VERSIONS
from tests.support.cluster.world import World

APP = {"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}}
CHILD = {"name": "child", "kind": "KudoOperator", "spec": {"package": "./child"}}


def page(name: str, text: str, **more: str) -> str:
    return build.template(build.config_map(name, text=text, **more))


def written(folder: Path, text: str, *parameters: build.Json, version: str = "0.1.0") -> Path:
    """Write the package `site` and its child; return its folder."""
    data = {one["name"]: f"{{{{ .Params.{one['name']} }}}}" for one in parameters}
    root = write_package(
        folder / f"site-{text}-{version}",
        templates={"app": page("app", text, **data)},
        parameters=parameters,
        name="site",
        operatorVersion=version,
        tasks=[APP, CHILD],
        plans={"deploy": build.plan({"app": ["app"]}, {"child": ["child"]})},
    )
    write_package(
        root / "child",
        templates={"app": page("below", text)},
        name="child",
        operatorVersion="1.0.0",
        tasks=[APP],
        plans={"deploy": build.plan({"app": ["app"]})},
    )
    return root


async def install(world: World, package: Path, *flags: str) -> Done:
    return await world.kudo("install", str(package), "--instance", "web", "--upgrade", *flags)


@pytest.fixture
async def web(world: World, tmp_path: Path) -> World:
    """Return a namespace with an instance `web` and its child."""
    done = await install(world, written(tmp_path, "one"), "--wait")
    assert done.code == 0, done
    return world


async def texts(world: World) -> list[str]:
    return [(await world.get(CONFIG_MAPS, name))["data"]["text"] for name in ("app", "below")]


async def test_an_edited_package_is_applied_without_another_version(
    web: World, tmp_path: Path
) -> None:
    again = await install(web, written(tmp_path / "again", "one"), "--wait")
    assert again.code == 0, again
    assert f"instance {web.namespace}/web unchanged" in again.stdout
    assert await texts(web) == ["one", "one"]

    edited = written(tmp_path, "two")
    refused = await install(web, edited)
    assert refused.code != 0, refused
    done = await install(web, edited, "--replace-version", "--wait")
    assert done.code == 0, done
    assert f"operatorversion {web.namespace}/site-0.1.0 replaced" in done.stdout
    assert await texts(web) == ["two", "two"]

    # A parameter that only the new content declares: the webhook's cache must have it by now.
    colour = build.parameter("COLOUR", "grey")
    coloured = written(tmp_path, "three", colour)
    done = await install(web, coloured, "--replace-version", "-p", "COLOUR=red", "--wait")
    assert done.code == 0, done
    assert (await web.get(CONFIG_MAPS, "app"))["data"]["COLOUR"] == "red"
    assert await texts(web) == ["three", "three"]


async def test_a_version_that_another_instance_uses_stays(web: World, tmp_path: Path) -> None:
    other = await web.kudo("install", "child", "--in-cluster", "--instance", "other")
    assert other.code == 0, other
    done = await install(web, written(tmp_path, "two"), "--replace-version")
    assert done.code != 0, done
    assert f"these instances use it: {web.namespace}/other" in done.stderr
    assert await texts(web) == ["one", "one"]


async def test_a_downgrade_is_warned_of_by_the_api_and_asked_for_by_the_command(
    web: World, tmp_path: Path
) -> None:
    newer = written(tmp_path, "two", version="0.2.0")
    # The child is of the same version as before, so its content has to stay.
    (newer / "child" / "templates" / "app.yaml").write_text(page("below", "one"))
    done = await install(web, newer, "--wait")
    assert done.code == 0, done
    older = written(tmp_path / "older", "one")
    refused = await install(web, older)
    assert "go back to it with --allow-downgrade" in refused.stderr, refused
    done = await install(web, older, "--allow-downgrade", "--wait")
    assert done.code == 0, done
    assert "Warning: site-0.1.0 is older than site-0.2.0" in done.stderr
    assert await texts(web) == ["one", "one"]

    assert (await install(web, newer, "--wait")).code == 0
    patch = json.dumps({"spec": {"operatorVersion": {"name": "site-0.1.0"}}})
    patched = await web.kubectl("patch", INSTANCES.name, "web", "--type", "merge", "-p", patch)
    assert patched.code == 0, patched
    assert "Warning: site-0.1.0 is older than site-0.2.0" in patched.stderr
    assert {one["metadata"]["name"] for one in await web.all(VERSIONS)} == {
        "child-1.0.0",
        "site-0.1.0",
        "site-0.2.0",
    }
