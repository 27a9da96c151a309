"""The API server in memory over HTTP, as a client with sockets meets it."""

from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace

import pytest

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.errors import ConnectionLost, NotFound
from kubeio.resource import CONFIG_MAPS
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.http import HttpServer
from tests.support.apiserver.server import Request, Response

SILENT = "silent"


class Served:
    """A cluster in memory; it warns of every write, and never answers for `silent`."""

    def __init__(self) -> None:
        self.http = HttpServer(self._handle)
        self._cluster: MemoryCluster

    @contextmanager
    def running(self) -> Iterator[str]:
        with self.http.running():
            self._cluster = self.http.do(MemoryCluster.start)
            yield self.http.url

    def _handle(self, request: Request) -> Response | None:
        if request.path.endswith(f"/{SILENT}"):
            return None
        response = self._cluster.server.handle(request)
        return response if request.method == "GET" else replace(response, warnings=('so "so"',))


@pytest.fixture
def url() -> Iterator[str]:
    with Served().running() as url:
        yield url


async def test_what_a_client_writes_is_watched_and_read(url: str) -> None:
    async with Client(ClusterConfig(url)) as client:
        listed = await client.list(CONFIG_MAPS, namespace="ns")
        watch = client.watch(CONFIG_MAPS, namespace="ns", resource_version=listed.resource_version)
        async with aclosing(watch) as events:
            body = {"metadata": {"name": "a"}, "data": {"x": "ü"}}
            await client.create(CONFIG_MAPS, body, namespace="ns")
            event = await anext(events)
        assert (event.type, event.object["data"]) == ("ADDED", {"x": "ü"})
        found = await client.get(CONFIG_MAPS, "a", namespace="ns")
        assert found == event.object


async def test_refusals_and_warnings_arrive(url: str) -> None:
    warnings: list[str] = []
    async with Client(ClusterConfig(url)) as client:
        client.on_warning = warnings.append
        with pytest.raises(NotFound, match='configmaps "a" not found'):
            await client.get(CONFIG_MAPS, "a", namespace="ns")
        with pytest.raises(NotFound):
            await client.delete(CONFIG_MAPS, "a", namespace="ns")
    assert warnings == ['so "so"']


async def test_a_request_may_stay_without_an_answer(url: str) -> None:
    async with Client(ClusterConfig(url), timeout=0.2) as client:
        with pytest.raises(ConnectionLost) as lost:
            await client.get(CONFIG_MAPS, SILENT, namespace="ns")
    assert lost.value.timeout
