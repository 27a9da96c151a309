"""Instances that may only name OperatorVersions of their own namespace."""

from dataclasses import replace

import pytest

from kubeio.errors import ApiError
from tests.integration.policies.policies import own_versions
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World

pytestmark = pytest.mark.smoke

FOREIGN = "OperatorVersionForeign: spec.operatorVersion.namespace"


def instance(name: str, namespace: str | None = None) -> Json:
    found = build.instance(name, "shared-1")
    if namespace is not None:
        found["spec"]["operatorVersion"]["namespace"] = namespace
    return found


async def test_references_to_other_namespaces_are_denied_and_those_that_exist_stay(
    world: World,
) -> None:
    other = replace(world, namespace=await new_namespace(world.client))
    plans: Json = {"deploy": {"phases": []}}
    for one in (world, other):
        done = await one.apply(build.operator_version("shared-1", templates={}, plans=plans))
        assert done.code == 0, done.output
    before = await other.apply(instance("before", world.namespace))
    async with own_versions(world):
        denied = await other.apply(instance("foreign", world.namespace))
        own = await other.apply(instance("own"), instance("named", other.namespace))
        await other.until_idle("own")
        await other.patch("before", {"suspend": True})
        with pytest.raises(ApiError, match=FOREIGN):
            await other.patch("own", {"operatorVersion": {"namespace": world.namespace}})

    assert [done.code for done in (before, own)] == [0, 0]
    assert denied.code != 0
    assert FOREIGN in denied.stderr
    stored = await other.get(INSTANCES, "own")
    assert "namespace" not in stored["spec"]["operatorVersion"]
