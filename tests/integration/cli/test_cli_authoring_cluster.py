"""A package that was written, extended and archived by commands alone runs on a real cluster."""

import json
from pathlib import Path

import pytest

from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.support.cluster.world import World


@pytest.fixture
async def folder(world: World, tmp_path: Path) -> Path:
    """Return the folder of a new package with a ConfigMap that was added to it."""
    folder = tmp_path / "web"
    at = ("--folder", str(folder))
    for line in (
        ["new", "web"],
        ["add", "template", "settings", "--task", "settings"],
        ["add", "plan", "tell", "--step", "settings=settings"],
        ["add", "parameter", "motto", "--default", "a: b", "--trigger", "tell"],
    ):
        done = await world.kudo("package", *line, *at)
        assert done.code == 0, done.output
    template = folder / "templates" / "settings.yaml"
    text = template.read_text(encoding="utf-8")
    template.write_text(text.replace("value", "{{ .Params.motto | quote }}"), encoding="utf-8")
    return folder


async def rendered(world: World, package: Path, *arguments: str) -> list[Json]:
    done = await world.kudo("package", "render", str(package), *arguments, "-o", "json")
    assert done.code == 0, done.output
    return [item["object"] for item in json.loads(done.stdout)]


async def test_the_archive_of_a_new_package_installs_and_does_what_render_shows(
    world: World, folder: Path, tmp_path: Path
) -> None:
    done = await world.kudo("package", "create", str(folder), "-d", str(tmp_path))
    assert done.code == 0, done.output
    archive = tmp_path / "web-0.1.0.tgz"

    done = await world.kudo("install", str(archive), "--instance", "i", "--wait")

    assert done.code == 0, done.output
    instance = await world.until_complete("i")
    assert instances.status_of(instance, "deploy") == "COMPLETE"
    (shown,) = await rendered(world, archive, "--instance", "i")
    applied = await world.get(DEPLOYMENTS, "i")
    assert (shown["kind"], shown["metadata"]["name"]) == ("Deployment", "i")
    assert applied["spec"]["replicas"] == shown["spec"]["replicas"] == 1
    container = shown["spec"]["template"]["spec"]["containers"][0]
    found = applied["spec"]["template"]["spec"]["containers"][0]
    assert {key: found[key] for key in container if key != "readinessProbe"} == {
        key: value for key, value in container.items() if key != "readinessProbe"
    } | {"ports": [{**container["ports"][0], "protocol": "TCP"}]}

    done = await world.kudo("update", "--instance", "i", "-p", "motto=c: d", "--wait")

    assert done.code == 0, done.output
    (shown,) = await rendered(
        world, archive, "--instance", "i", "--plan", "tell", "-p", "motto=c: d"
    )
    assert shown["data"] == {"example": "c: d"}
    assert (await world.get(CONFIG_MAPS, "i-settings"))["data"] == shown["data"]
