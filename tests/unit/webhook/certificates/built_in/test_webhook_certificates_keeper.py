"""The loop around the passes, and the way of a leaf into the listener."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from cryptography import x509

from kubeio.errors import Forbidden, ServerError
from kudo_webhook.certificates.authority import Pair
from kudo_webhook.certificates.rotation import BuiltIn, Keeper
from kudo_webhook.certificates.served import Served
from tests.unit.webhook.certificates.built_in.world import (
    CONFIGURATION,
    NAMESPACE,
    SECRET,
    TIMES,
    World,
)
from tests.unit.webhook.harness import any_certificate, until


@dataclass
class Kept:
    """A keeper that runs, and what it said."""

    world: World
    served: Served = field(default_factory=Served)
    leaves: list[Pair] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    failures: int = 0

    def serve(self, leaf: Pair) -> None:
        self.leaves.append(leaf)
        self.served.load_pem(leaf.certificate_pem, leaf.key_pem)

    def failed(self) -> None:
        self.failures += 1


@asynccontextmanager
async def keeping(world: World) -> AsyncIterator[Kept]:
    kept = Kept(world)
    built_in = BuiltIn(SECRET, None, "kudo-webhook", CONFIGURATION, TIMES)
    keeper = Keeper(
        world.api,
        built_in,
        namespace=NAMESPACE,
        serve=kept.serve,
        on_write=kept.writes.append,
        on_failure=kept.failed,
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keeper.run())
        yield kept
        task.cancel()


async def handshake(served: Served) -> x509.Certificate:
    """Return the certificate that a new connection is given."""
    closed = asyncio.Event()

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        closed.set()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=served.context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=any_certificate())
        connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
        der = connection.getpeercert(binary_form=True)
        writer.close()
        await closed.wait()
    assert der is not None
    return x509.load_der_x509_certificate(der)


async def test_what_is_kept_is_served_and_counted() -> None:
    async with keeping(World(0)) as kept:

        async def loaded() -> bool:
            return kept.served.loaded

        await until(loaded)
        [leaf] = kept.leaves
        assert await handshake(kept.served) == leaf.certificate
        assert kept.served.not_after == leaf.certificate.not_valid_after_utc
        assert kept.writes == ["authority", "bundle", "leaf"]
        assert kept.failures == 0


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Forbidden("secrets is forbidden", status=403), "secrets is forbidden"),
        (Forbidden("secrets is forbidden", status=403), "certs/README.md names the rights"),
        (ServerError("etcd is gone", status=500), "etcd is gone"),
    ],
)
async def test_trouble_is_told_once_and_over_when_the_api_server_answers(
    error: Forbidden | ServerError, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(0)
    world.api.refused = error
    async with keeping(world) as kept:

        async def failed_again() -> bool:
            return kept.failures >= 2

        await until(failed_again)
        warnings = [one for one in caplog.records if one.levelno == logging.WARNING]
        assert len(warnings) == 1
        assert text in warnings[0].getMessage()
        world.api.refused = None

        async def loaded() -> bool:
            return kept.served.loaded

        await until(loaded, seconds=30.0)


async def test_no_key_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with keeping(World(0)) as kept:

        async def loaded() -> bool:
            return kept.served.loaded

        await until(loaded)
    key = kept.leaves[0].key_pem.decode().splitlines()[1]
    assert len(caplog.records) >= 4
    assert all(key not in str(vars(record)) for record in caplog.records)


async def test_nothing_is_served_before_the_first_leaf() -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await handshake(Served())
