"""OperatorVersions that cannot be edited, where somebody wants that."""

from pathlib import Path

import pytest

from kubeio.errors import ApiError
from tests.integration.cli.test_cli_lifecycle import shop
from tests.integration.policies.policies import (
    POLICIES,
    immutable_versions,
    instances_policy,
)
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import as_admin
from tests.support.cluster.resources import VERSIONS
from tests.support.cluster.world import World

pytestmark = pytest.mark.smoke

REFUSED = "OperatorVersionImmutable: the spec of an OperatorVersion may not"


def version(text: str = "0.1.0") -> Json:
    found = build.operator_version("fixed-1", templates={}, plans={"deploy": {"phases": []}})
    found["spec"]["version"] = text
    return found


async def test_the_spec_stays_as_it_was_created(world: World) -> None:
    async with immutable_versions(world):
        created = await world.apply(version())
        changed = await world.apply(version("0.2.0"))
        with pytest.raises(ApiError, match=REFUSED):
            await world.client.merge_patch(
                VERSIONS, "fixed-1", {"spec": None}, namespace=world.namespace
            )

    assert created.code == 0, created.output
    assert changed.code != 0
    assert REFUSED in changed.stderr
    assert (await world.get(VERSIONS, "fixed-1"))["spec"]["version"] == "0.1.0"


async def test_everything_else_passes(world: World) -> None:
    await world.apply(version())
    async with immutable_versions(world):
        repeated = await world.apply(version())
        labels = {"metadata": {"labels": {"team": "a"}}}
        await world.client.merge_patch(VERSIONS, "fixed-1", labels, namespace=world.namespace)
        await world.client.delete(VERSIONS, "fixed-1", namespace=world.namespace)

    assert repeated.code == 0, repeated.output


async def test_packages_are_installed_and_upgraded_as_ever(world: World, tmp_path: Path) -> None:
    first, second = (str(shop(tmp_path, number)) for number in ("0.1.0", "0.2.0"))
    async with immutable_versions(world):
        installed = await world.kudo("install", first, "--instance", "web", "--wait")
        again = await world.kudo("install", first, "--skip-instance")
        upgraded = await world.kudo("upgrade", second, "--instance", "web", "--wait")

    for done in (installed, again, upgraded):
        assert done.code == 0, done.output


async def test_it_is_off_until_its_own_binding_is_there(world: World) -> None:
    await world.apply(version())
    async with instances_policy(world):
        await as_admin(world, "apply", f"--filename={POLICIES}")
        try:
            changed = await world.apply(version("0.2.0"))
        finally:
            operator_versions = POLICIES / "operatorversions.yaml"
            await as_admin(world, "delete", f"--filename={operator_versions}")

    assert changed.code == 0, changed.output
