"""TLS handshakes: which name is verified and sent, and which servers are not trusted."""

import ssl
from pathlib import Path

import pytest

from kubeio.connection.http.errors import CannotConnect, HttpError
from kubeio.connection.tls import Pem, client_context, load_client_certificate
from tests.unit.kubeio.connection.pki import authority, issued
from tests.unit.kubeio.http.servers import Peer, Server, answers, asked, get, put, serving, session


def named(server: Server) -> str:
    return server.url.replace("127.0.0.1", "localhost")


def secure(server: Server) -> str:
    return server.url.replace("http:", "https:")


async def test_an_address_is_verified_and_not_sent() -> None:
    async with serving(answers) as server, session(server) as opened:
        assert await asked(opened, get()) == b"{}"
    assert server.names == [None]


async def test_a_name_is_verified_and_sent() -> None:
    async with serving(answers) as server, session(named(server)) as opened:
        assert await asked(opened, get()) == b"{}"
    assert server.names == ["localhost"]
    assert b"\r\nHost: localhost:" in server.requests[0]


async def test_the_configured_name_takes_the_place_of_the_host() -> None:
    async with serving(answers) as server:
        async with session(server, tls_server_name="localhost") as opened:
            assert await asked(opened, get()) == b"{}"
        async with session(server, tls_server_name="elsewhere") as opened:
            with pytest.raises(CannotConnect, match=r"certificate verify failed: .*elsewhere"):
                await opened.send(get())
    assert server.names == ["localhost", "elsewhere"]
    assert b"\r\nHost: 127.0.0.1:" in server.requests[0]


async def test_an_ipv6_address_is_reached() -> None:
    # An address of IPv4 written as one of IPv6: machines without ::1 reach it, too.
    mapped = "[::ffff:127.0.0.1]"
    async with serving(answers) as server:
        url = server.url.replace("127.0.0.1", mapped)
        async with session(url, tls_server_name="localhost") as opened:
            assert await asked(opened, get()) == b"{}"
        async with session(url) as opened:
            with pytest.raises(
                CannotConnect, match=r"certificate verify failed: .*::ffff:127.0.0.1"
            ):
                await opened.send(get())
    assert f"\r\nHost: {mapped}:".encode() in server.requests[0]


async def test_an_unknown_authority_is_not_trusted() -> None:
    async with serving(answers) as server, session(server, tls=client_context(ca=Pem())) as opened:
        request = put()
        with pytest.raises(CannotConnect, match=r"certificate verify failed: "):
            await opened.send(request)
        assert not request.sent
        assert server.requests == []


async def test_a_server_without_tls_is_not_spoken_to() -> None:
    async def plain(peer: Peer) -> None:
        await peer.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(plain, tls=False) as server, session(secure(server)) as opened:
        with pytest.raises(CannotConnect, match="cannot connect to"):
            await opened.send(put())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_certificate_is_shown(version: ssl.TLSVersion, tmp_path: Path) -> None:
    def context() -> ssl.SSLContext:
        made = client_context(ca=Pem(data=authority().cert))
        made.minimum_version = made.maximum_version = version
        return made

    jane = issued("jane")
    known = context()
    load_client_certificate(known, Pem(data=jane.cert), Pem(data=jane.key))
    async with serving(answers, demand=True) as server:
        async with session(server, tls=known) as opened:
            assert await asked(opened, put()) == b"{}"
        async with session(server, tls=context()) as opened:
            # TLS 1.3: the server says so once the client has finished its part of the handshake.
            with pytest.raises((HttpError, OSError)):
                await opened.send(put())
        assert len(server.requests) == 1
