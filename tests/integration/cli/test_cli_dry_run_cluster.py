"""`--dry-run` on a real API server: it tells what happens then, and leaves nothing behind."""

from pathlib import Path

import pytest

from tests.integration.cli.packages import write_package
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, OPERATORS, VERSIONS
from tests.support.cluster.world import World

PARAMETERS = [
    build.parameter("SIZE", "1"),
    build.parameter("EXTRA", "1", trigger="extra"),
    {"name": "KIND", "default": "small", "immutable": True},
]


def shop(folder: Path, version: str) -> Path:
    data = {p["name"]: f"{{{{ .Params.{p['name']} }}}}" for p in PARAMETERS}
    return write_package(
        folder / version,
        name="shop",
        operatorVersion=version,
        tasks=[{"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}}],
        plans={name: build.plan({"app": ["app"]}) for name in ("deploy", "extra", "cleanup")},
        parameters=PARAMETERS,
        templates={"app": build.template(build.config_map("app", **data))},
    )


@pytest.fixture
async def installed(world: World, tmp_path: Path) -> World:
    """Return a namespace with an instance `web` of version 0.1.0."""
    package = shop(tmp_path, "0.1.0")
    done = await world.kudo("install", str(package), "--instance", "web", "--wait")
    assert done.code == 0, done.output
    return world


async def everything(world: World) -> list[Json]:
    return [obj for kind in (OPERATORS, VERSIONS, INSTANCES) for obj in await world.all(kind)]


@pytest.mark.parametrize("mode", ["client", "server"])
async def test_dry_runs_change_nothing_and_name_the_plan(
    installed: World, tmp_path: Path, mode: str
) -> None:
    newer = str(shop(tmp_path, "0.2.0"))
    before = await everything(installed)
    commands: dict[tuple[str, ...], str] = {
        ("update", "-p", "EXTRA=2"): "plan extra would run",
        ("update", "-p", "SIZE=2"): "plan deploy would run",
        ("update", "-p", "SIZE=1"): "plan deploy would run",
        ("upgrade", newer): "plan deploy would run",
        ("install", newer): "already exists",
        ("uninstall",): "plan cleanup would run first",
        ("plan", "trigger", "--name", "extra"): "Triggered extra plan",
        ("plan", "cancel"): "runs no plan",
    }
    for command, words in commands.items():
        done = await installed.kudo(*command, "--instance", "web", f"--dry-run={mode}")
        assert words in done.output, (command, done)
    assert await everything(installed) == before


async def test_the_client_denies_in_the_words_of_the_webhook(installed: World) -> None:
    for change in (["update", "-p", "KIND=big"], ["plan", "trigger", "--name", "none"]):
        command = [*change, "--instance", "web"]
        real = await installed.kudo(*command)
        server = await installed.kudo(*command, "--dry-run=server")
        client = await installed.kudo(*command, "--dry-run=client")
        assert (real.code, server.code, client.code) == (4, 4, 4)
        assert server.stderr == real.stderr
        words = real.stderr.removeprefix("Error: ")
        assert words.startswith("failed to update Instance"), real
        assert client.stderr.startswith("Error: the request would be denied (")
        assert client.stderr.endswith(f"): {words}")


async def test_what_a_dry_run_prints_can_be_applied(world: World, tmp_path: Path) -> None:
    command = ["install", str(shop(tmp_path, "0.1.0")), "--instance", "web"]
    printed = await world.kudo(*command, "--dry-run=client", "-o", "yaml")
    assert printed.code == 0, printed
    applied = await world.kubectl("apply", "-f", "-", text=printed.stdout)
    assert applied.code == 0, applied
    await world.until_complete("web")


async def test_the_server_judges_the_objects_of_an_install(world: World, tmp_path: Path) -> None:
    package = shop(tmp_path, "0.1.0")
    done = await world.kudo("install", str(package), "--dry-run=server")
    assert done.stdout.splitlines()[-1] == "plan deploy would run", done
    assert "checked locally, by the same rules" in done.stderr
    assert await everything(world) == []

    await world.kudo("install", str(package), "--skip-instance")
    done = await world.kudo("install", str(package), "--dry-run=server", "-o", "json")
    assert (done.code, "finalizers" in done.stdout) == (0, True), done
    assert await world.all(INSTANCES) == []
