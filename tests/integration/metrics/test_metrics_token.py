"""Metrics that ask for a token, on the real API server, with the rights that the chart gives.

tests/chart/test_chart_metrics_token.py shows that the ClusterRoles of the chart have these rules.
"""

import asyncio
import http.client
from collections.abc import AsyncIterator, Iterator

import orjson
import pytest

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNTS
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import Installation, Service
from tests.support.build import Json
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

_RBAC = "rbac.authorization.k8s.io"
_REVIEWS = {
    "authentication.k8s.io": "tokenreviews",
    "authorization.k8s.io": "subjectaccessreviews",
}
_RULES: dict[str, list[Json]] = {
    "kudo-metrics-auth": [
        {"apiGroups": [group], "resources": [plural], "verbs": ["create"]}
        for group, plural in _REVIEWS.items()
    ],
    "kudo-metrics-reader": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
}


def get(port: int, path: str, token: str = "") -> tuple[int, str]:
    """Return status and body of a path."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture
async def bound(admin: Client, world: World) -> AsyncIterator[dict[str, str]]:
    """Yield tokens of two ServiceAccounts: `reader` has the ClusterRole, `other` has not."""
    user = {"kind": "User", "apiGroup": _RBAC, "name": world.installation.cluster.reconciler_user}
    reader = {"kind": "ServiceAccount", "name": "reader", "namespace": world.namespace}
    bindings = {"kudo-metrics-auth": user, "kudo-metrics-reader": reader}
    for name, subject in bindings.items():
        await admin.create(CLUSTER_ROLES, role(name))
        await admin.create(CLUSTER_ROLE_BINDINGS, binding(name, subject))
    try:
        yield {name: await token_of(admin, world.namespace, name) for name in ("reader", "other")}
    finally:
        for name in bindings:
            for kind in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
                await admin.delete(kind, name)


def role(name: str) -> Json:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": _RULES[name],
    }


def binding(name: str, subject: Json) -> Json:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [subject],
    }


async def token_of(admin: Client, namespace: str, name: str) -> str:
    """Create a ServiceAccount and return a token of it."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    await admin.create(SERVICE_ACCOUNTS, account, namespace=namespace)
    path = SERVICE_ACCOUNTS.path(namespace, name, "token")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await admin.raw("POST", path, body=request)
    return str(answer["status"]["token"])


@pytest.fixture
def debug_port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def standby(installation: Installation, debug_port: int) -> Iterator[Service]:
    """Yield a second reconciler, which does not lead: it is scraped all the same."""
    options = ("--metrics-auth=token", f"--debug-port={debug_port}")
    service = installation.another_reconciler("metrics", *options)
    service.start()
    yield service
    service.stop()


async def test_only_who_may_get_metrics_reads_them(standby: Service, bound: dict[str, str]) -> None:
    async def ask(path: str, token: str = "") -> tuple[int, str]:
        return await asyncio.to_thread(get, standby.probe_port, path, token)

    async def readable() -> bool:
        # The API server may learn of a new binding a little later.
        return (await ask("/metrics", bound["reader"]))[0] == 200

    await wait_until(readable, lambda: "metrics to be readable")
    assert "kudo_leader 0.0" in (await ask("/metrics", bound["reader"]))[1]
    assert await ask("/metrics", bound["other"]) == (403, "forbidden\n")
    assert await ask("/metrics", bound["reader"][:-8] + "AAAAAAAA") == (401, "unauthorized\n")
    assert await ask("/metrics") == (401, "unauthorized\n")
    assert (await ask("/healthz"))[0] == 200
    assert (await ask("/readyz"))[0] == 200
    log = standby.log.read_text(encoding="utf-8")
    assert not any(token in log for token in bound.values())


async def test_without_the_right_to_review_nobody_is_let_in(
    standby: Service, admin: Client, world: World
) -> None:
    with pytest.raises(NotFound):
        await admin.get(CLUSTER_ROLE_BINDINGS, "kudo-metrics-auth")
    token = await token_of(admin, world.namespace, "reader")
    assert await asyncio.to_thread(get, standby.probe_port, "/metrics", token) == (
        503,
        "the token cannot be reviewed now\n",
    )
    assert "cannot review a token for metrics" in standby.log.read_text(encoding="utf-8")
    assert token not in standby.log.read_text(encoding="utf-8")


async def test_the_debug_port_reports_every_measure(standby: Service, debug_port: int) -> None:
    status, text = await asyncio.to_thread(get, debug_port, "/debug/namespaces")
    names = {one["name"] for one in orjson.loads(text)["measures"]}
    assert status == 200
    assert {"instances_queued", "operations_waiting", "worker_cpu_seconds"} < names
    # It names tenants, so the port of probes and metrics does not have it.
    assert (await asyncio.to_thread(standby.get, "/debug/namespaces"))[0] == 404
