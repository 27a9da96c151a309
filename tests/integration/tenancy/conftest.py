"""A reconciler in strict, which has no right on workloads itself.

Whatever a task sends as the reconciler is refused by the API server, and so is whatever it sends as
an account that may not do it.
"""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from kubeio.errors import NotFound
from kudo_cluster import Cluster
from kudo_cluster.installation import Installation, Service
from tests.integration.pipe.conftest import exec_port, pipes, running_kubelet
from tests.support.cluster.clients import client_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.strict import strict as in_strict_mode
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

__all__ = ["exec_port", "pipes", "running_kubelet"]

ACCOUNT = "plans"
_RECONCILER = "kudo-reconciler"
_TAKEN = ("kudo-reconciler", "kudo-reconciler-workloads", "kudo-reconciler-aggregated")
_LEAN = "test-tenancy"
_RULES = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]},
    {
        "apiGroups": ["kudo.dev"],
        "resources": ["instances", "operatorversions"],
        "verbs": ["get", "list", "watch"],
    },
    {"apiGroups": ["kudo.dev"], "resources": ["instances"], "verbs": ["patch"]},
    {"apiGroups": ["kudo.dev"], "resources": ["inventories"], "verbs": ["get", "create", "update"]},
    {"apiGroups": ["kudo.dev"], "resources": ["instances/status"], "verbs": ["update"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["serviceaccounts", "namespaces"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]},
]
"""Watches, the bookkeeping of the reconciler, and the right to act as somebody else."""
_BUSY = re.compile(
    r"^(?:kudo_instances|kudo_queue_depth|kudo_queue_longest_running_seconds)(?:{.*})? (?!0\.0$).*",
    re.MULTILINE,
)
_FREE = {"metadata": {"finalizers": None}}
_SECONDS = 60.0
_POLL = 0.1


@pytest.fixture(scope="module")
def strict_installation(running_installation: Installation) -> Iterator[Installation]:
    """Yield the installation with both services in strict mode, and the chart's rights for it."""
    with in_strict_mode(running_installation) as found:
        yield found


@pytest.fixture(scope="module")
def strict(cluster: Cluster, running_installation: Installation) -> Iterator[None]:
    """Run a reconciler in strict in place of the ordinary one, without the rights of that."""
    ordinary = running_installation.reconciler
    ordinary.stop()
    asyncio.run(_forget_others(cluster))
    options = ("--recheck=1", "--tenancy=strict")
    service = running_installation.another_reconciler("reconciler-strict", *options)
    try:
        with _without_rights(Kubectl(cluster, cluster.directory / "kubectl-cache")):
            running_installation.reconciler = service
            yield
    finally:
        service.stop()
        running_installation.reconciler = ordinary
    ordinary.start()


async def _forget_others(cluster: Cluster) -> None:
    """Remove what other tests have left: their accounts lack rights, so their requests would count.

    No reconciler runs, so nobody runs their cleanup plans.
    """
    async with client_of(cluster.kubeconfig("admin")) as admin:

        async def gone() -> bool:
            left = (await admin.list(INSTANCES)).items
            for one in left:
                name, namespace = one["metadata"]["name"], one["metadata"]["namespace"]
                with suppress(NotFound):  # a child goes with its parent
                    await admin.merge_patch(INSTANCES, name, _FREE, namespace=namespace)
                    await admin.delete(INSTANCES, name, namespace=namespace)
            return not left

        await wait_until(gone, lambda: "the Instances of other tests to be gone")


@contextmanager
def _without_rights(kubectl: Kubectl) -> Iterator[None]:
    """Leave the reconciler with `_RULES` and nothing else."""
    bindings = [kubectl.get("clusterrolebinding", name) for name in _TAKEN]
    kubectl("delete", "clusterrolebinding", *_TAKEN)
    try:
        kubectl.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": _LEAN},
                "rules": _RULES,
            }
        )
        role, user = f"--clusterrole={_LEAN}", f"--user={_RECONCILER}"
        kubectl("create", "clusterrolebinding", _LEAN, role, user)
        until_allowed(kubectl, "impersonate", "serviceaccounts")
        until_allowed(kubectl, "get", "configmaps", allowed=False)
        yield
    finally:
        kubectl("delete", "clusterrolebinding", _LEAN, "--ignore-not-found")
        for binding in bindings:
            name = binding["metadata"]["name"]
            kubectl.apply({**binding, "metadata": {"name": name}})
        until_allowed(kubectl, "get", "configmaps")


def until_allowed(
    kubectl: Kubectl, verb: str, resource: str, *, user: str = _RECONCILER, allowed: bool = True
) -> None:
    """Wait until the API server knows that a user may do something everywhere, or may not."""
    deadline = time.monotonic() + _SECONDS
    asked = ("auth", "can-i", verb, resource, f"--as={user}", "--all-namespaces")
    while (kubectl.run(*asked).returncode == 0) != allowed:
        assert time.monotonic() < deadline, f"{user}, {verb} {resource}: not {allowed=}"
        time.sleep(_POLL)


@pytest.fixture
def admin_kubectl(strict: None, world: World) -> Iterator[Kubectl]:
    """Make the account, which has no right yet and is the default, and yield kubectl as the admin.

    Its Instances are gone at the end: the ordinary reconciler would work on them. So is what was
    sent for them: the next test counts requests.
    """
    cluster = world.installation.cluster
    assert isinstance(cluster, Cluster)
    kubectl = Kubectl(cluster, cluster.directory / "kubectl-cache", world.namespace)
    kubectl("create", "serviceaccount", ACCOUNT)
    default = f"kudo.dev/service-account={ACCOUNT}"
    kubectl("annotate", "namespace", world.namespace, default)
    yield kubectl
    kubectl("delete", "instances.kudo.dev", "--all")
    _until_at_rest(world.installation.reconciler)


def _until_at_rest(reconciler: Service) -> None:
    """Wait until a reconciler knows of no Instance, and works on none."""
    deadline = time.monotonic() + _SECONDS
    while busy := _BUSY.findall(reconciler.get("/metrics")[1]):
        assert time.monotonic() < deadline, busy
        time.sleep(_POLL)
