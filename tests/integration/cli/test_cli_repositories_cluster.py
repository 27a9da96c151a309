"""Operators from a repository on a web server, on a real API server with KUDO."""

import asyncio
import os
import sys
import tarfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.integration.cli.packages import write_package
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.world import World

APP = {"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}}


def published(folder: Path, name: str, *tasks: Json, version: str = "0.1.0") -> None:
    """Put a package into a folder, whose deploy plan runs its tasks."""
    source = write_package(
        folder.parent / f"{name}-{version}",
        name=name,
        operatorVersion=version,
        tasks=[APP, *tasks],
        plans={"deploy": build.plan({task["name"]: [task["name"]] for task in (APP, *tasks)})},
        templates={"app": build.template(build.config_map("{{ .Name }}"))},
    )
    with tarfile.open(folder / f"{name}-{version}.tgz", "w:gz") as archive:
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            archive.add(path, path.relative_to(source))


def needs(name: str) -> Json:
    return {"name": name, "kind": "KudoOperator", "spec": {"package": name}}


@asynccontextmanager
async def serving(folder: Path, environment: dict[str, str]) -> AsyncIterator[str]:
    """Serve a folder with `repo serve`, and yield its URL."""
    argv = ["-m", "kubectl_kudo", "repo", "serve", str(folder), "--address", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *argv,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().split()[-1]
    finally:
        process.terminate()
        await process.wait()


async def versions(world: World) -> Sequence[str]:
    return sorted(version["metadata"]["name"] for version in await world.all(VERSIONS))


async def test_a_tree_of_operators_comes_from_a_repository(world: World, tmp_path: Path) -> None:
    folder, home = tmp_path / "dist", str(tmp_path / "home")
    folder.mkdir()
    published(folder, "demo", needs("kafka"))
    published(folder, "kafka")
    published(folder, "kafka", version="0.2.0")
    async with serving(folder, dict(os.environ)) as url:
        added = await world.kudo("repo", "add", "own", url, "--home", home)
        assert added.code == 0, added.output
        repository = ("--repo", "own", "--home", home)
        assert "demo" in (await world.kudo("search", "dem", *repository)).stdout
        done = await world.kudo("install", "demo", *repository, "--instance", "web", "--wait")
        assert done.code == 0, done.output
    assert await versions(world) == ["demo-0.1.0", "kafka-0.2.0"]
    names = [one["metadata"]["name"] for one in await world.all(INSTANCES)]
    assert sorted(names) == ["web", "web-kafka"]

    # Without the server, the cache of the index and of the packages is enough.
    second = ("install", "demo", *repository, "--instance", "second", "--wait")
    offline = await world.kudo(*second)
    assert offline.code == 0, offline.output
    assert "; using the index of " in offline.stderr
    third = await world.kudo("install", "kafka", "--in-cluster", "--instance", "third", "--wait")
    assert third.code == 0, third.output
