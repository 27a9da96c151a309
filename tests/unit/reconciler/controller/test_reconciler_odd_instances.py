"""Instances that were stored before the CRD had a pattern for what they refer to."""

import asyncio

import pytest

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from tests.unit.reconciler.scenes.scene import Scene, of_kind, play, version


@pytest.mark.parametrize(
    "reference",
    [
        {"name": ".."},
        {"name": "a/b"},
        {"name": "a%2fb"},
        {"name": "v1", "namespace": ".."},
        {"name": "v1", "namespace": "ns/operatorversions"},
    ],
)
def test_a_reference_that_no_object_can_have_is_named_and_the_instance_is_deleted(
    reference: JsonObject,
) -> None:
    async def body(scene: Scene) -> None:
        await scene.life.put_version(version(of_kind("ConfigMap", "o"), deploy=["apply"]))
        scene.life.cluster.server.storage.put(
            (INSTANCES.group, INSTANCES.plural),
            {
                "apiVersion": "kudo.dev/v1beta1",
                "kind": "Instance",
                "metadata": {
                    "name": "i",
                    "namespace": "ns",
                    "uid": "u",
                    "generation": 1,
                    "finalizers": ["kudo.dev.instance.cleanup"],
                },
                "spec": {"operatorVersion": reference},
            },
        )
        await asyncio.sleep(10)
        found = scene.life.observed.instance("i")
        assert found is not None
        ready = found["status"]["conditions"][0]
        assert (ready["status"], ready["reason"]) == ("False", "InvalidOperatorVersion")
        assert f"/{reference['name']} does not exist" in ready["message"]
        await scene.admin.merge_patch(
            INSTANCES, "i", {"metadata": {"labels": {"team": "a"}}}, namespace="ns"
        )
        await scene.admin.delete(INSTANCES, "i", namespace="ns")
        await asyncio.sleep(10)
        assert scene.life.observed.instance("i") is None
        assert not [one for one in scene.network.seen if "%2" in one.path or ".." in one.path]

    play(body)
