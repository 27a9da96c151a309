"""A service account whose token and CA are replaced in its projected volume, over real sockets."""

import contextlib
import ssl
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.connection.context import Context
from kubeio.connection.service import library_config
from kubeio.errors import ConnectionLost, Unauthorized
from tests.unit.kubeio.connection.pki import authority, issued


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Volume:
    """A projected volume as the kubelet writes it: files are links through ..data."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self._writes = 0

    def write(self, **files: bytes) -> None:
        """Replace all files at once."""
        self._writes += 1
        folder = self.root / f"..2026_11_28_{self._writes}"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
            link = self.root / name
            if not link.is_symlink():
                link.symlink_to(Path("..data", name))
        new = self.root / "..data_tmp"
        new.symlink_to(folder.name)
        new.rename(self.root / "..data")


class ApiServer:
    """Takes one token, with a certificate that one CA has issued.

    Attributes:
        token: The token.
        seen: The tokens that were sent.
        url: Where it listens.
    """

    def __init__(self, folder: Path) -> None:
        self.token = "one"
        self.seen: list[str] = []
        self.url = ""
        self._folder = folder
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.issued_by("old ca")

    def issued_by(self, ca: str) -> None:
        """Show another certificate from the next connection on."""
        pair = issued("localhost", ca)
        (self._folder / "cert").write_bytes(pair.cert)
        (self._folder / "key").write_bytes(pair.key)
        self._context.load_cert_chain(self._folder / "cert", self._folder / "key")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async def version(request: web.Request) -> web.StreamResponse:
            token = request.headers["Authorization"].removeprefix("Bearer ")
            self.seen.append(token)
            known = token == self.token
            return web.json_response({"token": token}, status=200 if known else 401)

        app = web.Application()
        app.router.add_get("/version", version)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._context).start()
        self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield
        finally:
            await runner.cleanup()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    made = Volume(tmp_path / "serviceaccount")
    made.write(token=b"one\n", **{"ca.crt": authority("old ca").cert, "namespace": b"kudo"})
    return made


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    made = ApiServer(tmp_path)
    async with made.running():
        yield made


async def connected(server: ApiServer, volume: Volume, clock: Clock) -> ClusterConfig:
    host, _, port = server.url.removeprefix("https://").rpartition(":")
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    context = Context.of_pod(env, volume.root)
    return await library_config(context, {}, user_agent="test", clock=clock)


async def test_a_token_that_was_replaced_is_read_after_the_first_refusal(
    server: ApiServer, volume: Volume, clock: Clock
) -> None:
    async with Client(await connected(server, volume, clock)) as client:
        assert await client.server_version() == {"token": "one"}
        volume.write(token=b"two\n", **{"ca.crt": authority("old ca").cert})
        server.token = "two"
        assert await client.server_version() == {"token": "two"}
        assert server.seen == ["one", "one", "two"]


async def test_a_token_that_was_replaced_is_read_within_a_minute(
    server: ApiServer, volume: Volume, clock: Clock
) -> None:
    async with Client(await connected(server, volume, clock)) as client:
        await client.server_version()
        volume.write(token=b"two\n", **{"ca.crt": authority("old ca").cert})
        server.token = "two"
        clock.now = 60.0
        assert await client.server_version() == {"token": "two"}
        assert server.seen == ["one", "two"]


async def test_a_new_ca_is_trusted_and_the_old_one_no_longer(
    server: ApiServer, volume: Volume, clock: Clock
) -> None:
    config = await connected(server, volume, clock)
    server.issued_by("new ca")
    async with Client(config) as client:
        with pytest.raises(ConnectionLost, match="certificate verify failed"):
            await client.server_version()
        volume.write(token=b"one", **{"ca.crt": authority("new ca").cert})
        clock.now = 60.0
        assert await client.server_version() == {"token": "one"}
    server.issued_by("old ca")
    async with Client(config) as client:
        with pytest.raises(ConnectionLost, match="certificate verify failed"):
            await client.server_version()


async def test_token_and_ca_are_replaced_together_while_a_connection_is_open(
    server: ApiServer, volume: Volume, clock: Clock
) -> None:
    async with Client(await connected(server, volume, clock)) as client:
        assert await client.server_version() == {"token": "one"}
        server.issued_by("new ca")
        server.token = "two"
        volume.write(token=b"two\n", **{"ca.crt": authority("new ca").cert})
        assert await client.server_version() == {"token": "two"}


async def test_an_unchanged_ca_keeps_connections(
    server: ApiServer, volume: Volume, clock: Clock
) -> None:
    config = await connected(server, volume, clock)
    before = config.ssl
    async with Client(config) as client:
        await client.server_version()
        volume.write(token=b"one", **{"ca.crt": authority("old ca").cert})
        # A new connection would fail.
        server.issued_by("new ca")
        clock.now = 60.0
        assert await client.server_version() == {"token": "one"}
    assert config.ssl is before


@pytest.mark.parametrize("broken", ["no volume", "no token", "junk CA", "no CA"])
async def test_a_broken_volume_keeps_what_was_read_last(
    server: ApiServer, volume: Volume, clock: Clock, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(await connected(server, volume, clock)) as client:
        await client.server_version()
        match broken:
            case "no volume":
                (volume.root / "..data").unlink()
            case "no token":
                volume.write(token=b"", **{"ca.crt": authority("old ca").cert})
            case "junk CA":
                volume.write(token=b"two", **{"ca.crt": b"-----BEGIN"})
            case "no CA":
                volume.write(token=b"two", **{"ca.crt": b""})
        clock.now = 60.0
        assert await client.server_version() == {"token": "one"}
        assert len(caplog.records) == 1
        assert caplog.messages[0].startswith("keeping the last credential: ")
        assert str(volume.root) in caplog.messages[0]
        server.token = "none"
        with pytest.raises(Unauthorized):
            await client.server_version()


async def test_the_wall_clock_decides_nothing(
    server: ApiServer, volume: Volume, clock: Clock
) -> None:
    config = await connected(server, volume, clock)
    volume.write(token=b"two\n", **{"ca.crt": authority("old ca").cert})
    clock.now = 59.0
    assert await config.auth.header() == "Bearer one"
    clock.now = 60.0
    assert await config.auth.header() == "Bearer two"


async def test_files_are_read_in_another_thread(
    server: ApiServer, volume: Volume, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    class Watched(InClusterConfigLoader):
        def load_and_set(self, client_configuration: Configuration | None = None) -> None:
            threads.append(threading.current_thread())
            super().load_and_set(client_configuration)

    monkeypatch.setattr("kubeio.connection.library.InClusterConfigLoader", Watched)
    config = await connected(server, volume, clock)
    clock.now = 60.0
    await config.auth.header()
    assert len(threads) == 2
    assert threading.main_thread() not in threads
