"""The client CA: who presents no certificate of it is not answered. Real TLS."""

import asyncio
import socket
import ssl
from pathlib import Path

import aiohttp
import pytest

from kudo_webhook.certificates.files import ClientAuthority
from kudo_webhook.certificates.served import Served
from tests.support.client_ca import Authority
from tests.unit.webhook.harness import (
    MUTATE,
    Webhook,
    any_certificate,
    instance,
    review,
    running,
    served_serial,
    until,
    write_pair,
)
from tests.unit.webhook.test_webhook_lifecycle import failing_checks, unready

CLOSED = 'kudo_admission_connections_closed_total{reason="handshake_failed"}'


async def answered(webhook: Webhook, client: ssl.SSLContext) -> bool:
    """Return whether a client is answered on a connection of its own; False after a TLS error."""
    connector = aiohttp.TCPConnector(ssl=client, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        try:
            async with session.post(webhook.url + MUTATE, json=review(instance())) as answer:
                return (await answer.json())["response"]["allowed"] is True
        except (aiohttp.ClientError, ssl.SSLError):
            return False


async def test_only_clients_of_the_authority_are_answered(tmp_path: Path) -> None:
    ours, foreign = Authority.make("ours"), Authority.make("foreign")
    (tmp_path / "clients.crt").write_bytes(ours.pem)
    async with running(tmp_path, client_ca=tmp_path / "clients.crt") as webhook:
        await until(lambda: is_ready(webhook))
        assert await answered(webhook, ours.client(tmp_path))
        assert not await answered(webhook, any_certificate())
        assert not await answered(webhook, foreign.client(tmp_path))
        assert not await answered(webhook, ours.client(tmp_path, days=-1))
        assert f"{CLOSED} 3.0" in (await webhook.probe("/metrics"))[1]


async def is_ready(webhook: Webhook) -> bool:
    return not await failing_checks(webhook)


@pytest.mark.parametrize(
    ("client", "alert"), [("nobody", "certificate required"), ("foreign", "unknown ca")]
)
async def test_a_client_that_is_not_taken_is_told_why(
    client: str, alert: str, tmp_path: Path
) -> None:
    ours, foreign = Authority.make("ours"), Authority.make("foreign")
    (tmp_path / "clients.crt").write_bytes(ours.pem)
    context = any_certificate() if client == "nobody" else foreign.client(tmp_path)
    async with running(tmp_path, client_ca=tmp_path / "clients.crt") as webhook:
        await until(lambda: is_ready(webhook))
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", webhook.ports.port, ssl=context, server_hostname=""
        )
        with pytest.raises(ssl.SSLError, match=alert):
            await reader.read()
        writer.transport.abort()


async def test_a_changed_authority_holds_from_the_next_handshake_on(tmp_path: Path) -> None:
    old, new = Authority.make("old"), Authority.make("new")
    path = tmp_path / "clients.crt"
    path.write_bytes(old.pem)
    before, after = old.client(tmp_path), new.client(tmp_path)
    async with running(tmp_path, client_ca=path) as webhook:
        await until(lambda: is_ready(webhook))
        assert await answered(webhook, before)
        path.write_bytes(old.pem + new.pem)
        await until(lambda: answered(webhook, after))
        assert await answered(webhook, before)
        path.write_bytes(new.pem)

        async def gone() -> bool:
            return not await answered(webhook, before)

        await until(gone)
        assert await answered(webhook, after)


async def test_a_renewed_serving_certificate_keeps_the_verification(tmp_path: Path) -> None:
    ours = Authority.make("ours")
    (tmp_path / "clients.crt").write_bytes(ours.pem)
    write_pair(tmp_path)
    async with running(tmp_path, client_ca=tmp_path / "clients.crt") as webhook:
        await until(lambda: is_ready(webhook))
        serial = write_pair(tmp_path)

        async def renewed() -> bool:
            return await served_serial(webhook.ports.port) == serial

        await until(renewed)
        assert await answered(webhook, ours.client(tmp_path))
        assert not await answered(webhook, any_certificate())


async def test_a_session_of_a_former_authority_cannot_be_resumed(tmp_path: Path) -> None:
    old, new = Authority.make("old"), Authority.make("new")
    path = tmp_path / "clients.crt"
    path.write_bytes(old.pem)
    client = old.client(tmp_path)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    async with running(tmp_path, client_ca=path) as webhook:
        await until(lambda: is_ready(webhook))
        port = webhook.ports.port
        session = await asyncio.to_thread(handshake, port, client)
        path.write_bytes(new.pem)
        await until(lambda: answered(webhook, new.client(tmp_path)))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.to_thread(handshake, port, client, session)


def handshake(
    port: int, context: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> ssl.SSLSession:
    """Make a connection, ask for a page, and return the session; blocks."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
        context.wrap_socket(raw, session=session) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n")
        if not connection.recv(100).startswith(b"HTTP/1.1 404 "):
            raise ConnectionError("no answer")
        assert connection.session is not None
        return connection.session


async def test_without_the_authority_it_is_not_ready_and_answers_nobody(tmp_path: Path) -> None:
    ours = Authority.make("ours")
    path = tmp_path / "clients.crt"
    async with running(tmp_path, client_ca=path) as webhook:

        async def told(text: str) -> bool:
            return text in (await unready(webhook)).get("client CA", "")

        await until(lambda: told(f"{path}: No such file"))
        assert not await answered(webhook, ours.client(tmp_path))
        path.write_bytes(b"")
        await until(lambda: told(f"{path} holds no readable certificate"))
        path.write_bytes(ours.pem)
        await until(lambda: is_ready(webhook))
        assert await answered(webhook, ours.client(tmp_path))


def test_a_broken_file_leaves_the_former_authority_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "clients.crt"
    path.write_bytes(Authority.make("ours").pem)
    clients = ClientAuthority(Served(verify_clients=True), path)
    clients.refresh()
    for _ in range(2):
        path.write_bytes(b"-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
        clients.refresh()
        clients.refresh()
    assert clients.problem == ""
    [record] = [one for one in caplog.records if one.levelname == "ERROR"]
    assert record.getMessage() == "client CA refused, the one loaded before stays"
