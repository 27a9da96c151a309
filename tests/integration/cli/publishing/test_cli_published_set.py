"""Packages in the shape of the published ones: packed, indexed, served, found and installed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.integration.cli.publishing.published import GAUGE, KEEPER, STREAM, write
from tests.support import instances
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, VERSIONS
from tests.support.cluster.shell import Shell
from tests.support.cluster.world import World

BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
ARCHIVES = {
    "gauge-0.1.4.tgz",
    "keeper-3.4.14_0.3.0.tgz",
    "keeper-3.4.14_0.3.1.tgz",
    "stream-2.5.0_1.3.2.tgz",
    "stream-2.5.0_1.3.3.tgz",
}


@pytest.fixture
async def shell(world: World, tmp_path: Path) -> AsyncIterator[Shell]:
    """Yield a user whose default repository has the packages."""
    shell = Shell(world, tmp_path)
    (shell.folder / "dist").mkdir()
    for name, texts, versions in (
        ("gauge", GAUGE, ("",)),
        ("keeper", KEEPER, ("0.3.0", "0.3.1")),
        ("stream", STREAM, ("1.3.3", "1.3.2")),
    ):
        for version in versions:
            write(shell.folder / name, texts, version=version)
            assert "package is valid\n" in await shell.run(f"kubectl kudo package verify ./{name}")
            # BTO-49: a folder named like this gave archives that could not be read.
            await shell.run(f"kubectl kudo package create {name} -d dist")
    await shell.run("kubectl kudo repo index dist --url http://127.0.0.1:1")
    async with shell.running("kubectl kudo repo serve dist --address 127.0.0.1:0") as served:
        await shell.run(f"kubectl kudo repo add own {served.split()[-1]}")
        await shell.run("kubectl kudo repo context own")
        yield shell


async def names(world: World, kind: Resource) -> list[str]:
    return sorted(one["metadata"]["name"] for one in await world.all(kind))


async def test_a_tree_by_name_path_and_version_is_installed(
    world: World, shell: Shell, admin: Client
) -> None:
    assert {path.name for path in (shell.folder / "dist").glob("*.tgz")} == ARCHIVES
    found = await shell.run("kubectl kudo search e")
    assert [line.split() for line in found.splitlines()][1:] == [
        ["gauge", "0.1.4"],
        ["keeper", "0.3.1", "3.4.14"],
        ["stream", "1.3.3", "2.5.0"],
    ]

    await shell.run("kubectl kudo install gauge --instance g --wait")

    assert await names(world, VERSIONS) == [
        "gauge-0.1.4",
        "keeper-3.4.14-0.3.0",
        "stream-2.5.0-1.3.3",
        "uploader-0.1.0",
    ]
    assert await names(world, INSTANCES) == ["g", "g-keeper", "g-uploader", "stream"]
    for name in await names(world, INSTANCES):
        assert instances.status_of(await world.instance(name), "deploy") == "COMPLETE"
    stream = await world.instance("stream")
    assert stream["spec"]["parameters"] == {
        "BROKER_COUNT": "1",
        "URI": "g-keeper-0.g-keeper-hs:2181",
    }
    settings = (await world.get(CONFIG_MAPS, "g-keeper-settings"))["data"]
    assert settings == {"mode": "plain", "count": "3", "tolerations": ""}
    budgets = (await admin.list(BUDGETS, namespace=world.namespace)).items
    assert [one["metadata"]["name"] for one in budgets] == ["g-keeper-pdb"]


@pytest.mark.campaign
async def test_one_of_them_is_installed_with_values_and_upgraded(
    world: World, shell: Shell
) -> None:
    listed = await shell.run("kubectl kudo package list parameters keeper --required")
    assert listed == "no required parameters without default values found\n"
    keeper = "kubectl kudo install keeper --operator-version 0.3.0 --instance k --wait"
    code, told = await shell.attempt(f"{keeper} -p MODE=none")
    assert code == 4
    assert "plain" in told
    assert await names(world, VERSIONS) == []

    await shell.run(f"{keeper} -p MODE=tls -p 'TOLERATIONS=[{{key: a}}, {{key: b}}]'")
    await shell.run("kubectl kudo upgrade keeper --instance k -p NODE_COUNT=1")
    await shell.run("kubectl kudo plan wait --instance k")

    settings = (await world.get(CONFIG_MAPS, "k-settings"))["data"]
    assert settings == {"mode": "tls", "count": "1", "tolerations": "a;b;"}
    used = (await world.instance("k"))["spec"]["operatorVersion"]["name"]
    assert used == "keeper-3.4.14-0.3.1"
