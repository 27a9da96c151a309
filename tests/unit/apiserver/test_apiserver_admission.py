"""KUDO's admission rules inside the API server in memory."""

import itertools
from collections.abc import Awaitable, Callable

import pytest

from kubeio.client import Client
from kubeio.errors import Forbidden, ServerError
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api.crds import definitions
from tests.support import build
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.instance_admission import RECONCILER, InstanceAdmission
from tests.support.loops.virtual_loop import run_virtually

INSTANCES = Resource("kudo.dev", "v1beta1", "Instance", "instances", namespaced=True)
VERSIONS = Resource("kudo.dev", "v1beta1", "OperatorVersion", "operatorversions", namespaced=True)
Body = Callable[[Client, Client, InstanceAdmission], Awaitable[None]]


def version() -> JsonObject:
    return build.stored_version(
        tasks=[{"name": "t", "kind": "Dummy", "spec": {"done": True}}],
        parameters=[{"name": "P", "default": "1"}],
        plans={"deploy": build.serial(["t"])},
    )


def instance() -> JsonObject:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": "i", "namespace": "ns"},
        "spec": {"operatorVersion": {"name": "v1"}},
    }


def admitted(body: Body) -> None:
    """Run a body with clients of a user and of the reconciler."""

    async def main() -> None:
        numbers = itertools.count(1)
        admission = InstanceAdmission(lambda: f"uid-{next(numbers)}")
        cluster = MemoryCluster.start(admission=admission, crds=definitions().values())
        admission.storage = cluster.server.storage
        user, _ = cluster.client(user="alice")
        reconciler, _ = cluster.client(user=RECONCILER)
        async with user, reconciler:
            await user.create(VERSIONS, version())
            await body(user, reconciler, admission)

    run_virtually(main())


def test_a_new_instance_is_scheduled() -> None:
    async def body(user: Client, reconciler: Client, admission: InstanceAdmission) -> None:
        made = await user.create(INSTANCES, instance())
        scheduled = made["spec"]["planExecution"]
        assert (scheduled["planName"], scheduled["uid"]) == ("deploy", "uid-1")

    admitted(body)


def test_a_denial_reads_as_from_a_webhook() -> None:
    async def body(user: Client, reconciler: Client, admission: InstanceAdmission) -> None:
        unknown = {**instance(), "spec": {"operatorVersion": {"name": "absent"}}}
        with pytest.raises(Forbidden) as denied:
            await user.create(INSTANCES, unknown)
        assert denied.value.reason == "OperatorVersionNotFound"
        assert denied.value.causes[0].field == "spec.operatorVersion.name"
        webhook = "mutate.instance-admission.kudo.dev"
        assert denied.value.message.startswith(f'admission webhook "{webhook}" denied the request')

    admitted(body)


def test_without_an_answer_specs_cannot_change_and_bookkeeping_passes() -> None:
    async def body(user: Client, reconciler: Client, admission: InstanceAdmission) -> None:
        await user.create(INSTANCES, instance())
        admission.reachable = False
        change = {"spec": {"parameters": {"P": "2"}}}
        for client in (user, reconciler):
            with pytest.raises(ServerError):
                await client.merge_patch(INSTANCES, "i", change, namespace="ns")
        labels = {"metadata": {"labels": {"l": "1"}}}
        await user.merge_patch(INSTANCES, "i", labels, namespace="ns")
        cleared = {"spec": {"planExecution": None}}
        await reconciler.merge_patch(INSTANCES, "i", cleared, namespace="ns")

    admitted(body)


def test_without_the_mutating_configuration_a_create_without_its_run_is_denied() -> None:
    async def body(user: Client, reconciler: Client, admission: InstanceAdmission) -> None:
        admission.mutating = False
        with pytest.raises(Forbidden, match=r"validate\.instance-admission\.kudo\.dev"):
            await user.create(INSTANCES, instance())

    admitted(body)


def test_without_both_configurations_nothing_is_judged() -> None:
    async def body(user: Client, reconciler: Client, admission: InstanceAdmission) -> None:
        admission.mutating = admission.validating = False
        made = await user.create(INSTANCES, instance())
        assert "planExecution" not in made["spec"]

    admitted(body)
