"""Credentials of plugins and identity providers, obtained by kubernetes_asyncio."""

import asyncio
import base64
import contextlib
import logging
import os
import ssl
import stat
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.auth import RenewedAuth
from kubeio.connection.config import find_context
from kubeio.connection.library import Library
from kubeio.errors import ConfigError
from kubeio.types import JsonObject
from tests.unit.kubeio.connection.kubeconfigs import READERS, b64, kubeconfig
from tests.unit.kubeio.connection.pki import authority, issued
from tests.unit.kubeio.fake_api import until

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:kubernetes_asyncio.config.openid"
)

FAR, PAST = "2099-01-01T00:00:00Z", "2001-01-01T00:00:00Z"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def exec_config(tmp_path: Path, script: str, server: str = "http://k8s") -> Path:
    """Write a kubeconfig whose user runs a Python script; it counts its runs in a file."""
    plugin = tmp_path / "plugin"
    counting = f"""#!{sys.executable}
import json, os, pathlib, sys, time
count = pathlib.Path({str(tmp_path / "count")!r})
runs = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(runs))
def give(**status):
    print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1",
                       "kind": "ExecCredential", "status": status}}))
"""
    plugin.write_text(counting + script)
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    run = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}
    path = tmp_path / "config"
    cluster = {"server": server, "certificate-authority-data": b64(authority().cert)}
    path.write_text(yaml.safe_dump(kubeconfig(cluster=cluster, user={"exec": run})))
    return path


def plugin_auth(path: Path, clock: Clock | None = None, seconds: float = 60.0) -> RenewedAuth:
    context = find_context(path, None, {})
    library = Library(context, context.tls(), seconds=seconds)
    return RenewedAuth(library.obtain, source=context.origin, clock=clock or Clock())


async def test_an_exec_plugin_gives_a_token_until_it_is_refused(tmp_path: Path) -> None:
    clock = Clock()
    script = f'give(token=f" t{{runs}}\\n", expirationTimestamp="{FAR}")'
    auth = plugin_auth(exec_config(tmp_path, script), clock)
    assert await auth.header() == "Bearer t1"
    clock.now = 3600.0
    assert await auth.header() == "Bearer t1"
    assert await auth.refresh("Bearer t1")
    assert await auth.refresh("Bearer t1")
    assert await auth.header() == "Bearer t2"
    assert "t2" not in repr(auth)


async def test_an_expired_token_is_replaced_without_a_refusal(tmp_path: Path) -> None:
    clock = Clock()
    script = f'give(token=f"t{{runs}}", expirationTimestamp="{PAST}")'
    auth = plugin_auth(exec_config(tmp_path, script), clock)
    assert await auth.header() == "Bearer t1"
    clock.now = 60.0
    assert await auth.header() == "Bearer t2"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('sys.exit("no login: s\\x1b[31m")', r"returned 1\. no login: s\?\[31m"),
        ("print('{}')", "missing key 'apiVersion'"),
        ("print('s3cret <')", "failed to decode process output"),
        ("os.write(1, b's3cret \\xff')", "failed to decode process output"),
        ("print('[]')", "missing key"),
        ("give()", "neither a token nor a certificate"),
        ("give(clientCertificateData='s3cret')", "neither a token nor a certificate"),
        ("give(token='')", "the token is empty"),
        ("give(token='s3cret\\nx')", "line break"),
        ("give(token='s3cret', expirationTimestamp='s3cret')", "malformed"),
        ("sys.stderr.write('x' * 2**17); sys.exit(1)", "x…"),
    ],
)
async def test_a_plugin_that_fails_is_named(
    tmp_path: Path, script: str, words: str, reader: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = exec_config(tmp_path, script)
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ConfigError, match=words) as problem:
        await (await READERS[reader](path, {})).auth.header()
    text = str(problem.value)
    assert str(path) in text
    assert "s3cret" not in f"{text} {problem.value.__cause__!r} {caplog.text}"
    assert len(text) < 1000
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def test_a_plugin_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = exec_config(tmp_path, "")
    (tmp_path / "plugin").unlink()
    with pytest.raises(ConfigError, match=r"users\[u\]\.user\.exec: .*No such file.*plugin"):
        await plugin_auth(path).header()


async def test_a_plugin_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    path = exec_config(tmp_path, "time.sleep(600)")
    with pytest.raises(ConfigError, match="no credential within 0 s; does its plugin hang"):
        await plugin_auth(path, seconds=0.3).header()


async def test_a_plugin_ends_with_the_call_that_wants_its_credential(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"pathlib.Path({str(pid)!r}).write_text(f'{{os.getpid()}} '); time.sleep(600)"
    asking = asyncio.ensure_future(plugin_auth(exec_config(tmp_path, script)).header())
    await until(lambda: pid.exists() and pid.read_text().endswith(" "))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: not Path("/proc", pid.read_text().strip()).exists())


async def test_the_event_loop_goes_on_while_a_plugin_runs(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    # Opening blocks until the other end is opened, too, by this event loop.
    script = f"pathlib.Path({str(gate)!r}).read_text(); give(token='t')"
    asking = asyncio.ensure_future(plugin_auth(exec_config(tmp_path, script)).header())
    await until((tmp_path / "count").exists)
    gate.write_text("go")
    assert await asking == "Bearer t"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary files are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("reader", READERS)
async def test_a_client_certificate_of_a_plugin_is_shown_and_replaced(
    tmp_path: Path, temporary: Path, reader: str
) -> None:
    pairs = [
        {"clientCertificateData": pair.cert.decode(), "clientKeyData": pair.key.decode()}
        for pair in (issued("jane"), issued("joe"))
    ]
    script = f"give(**json.loads({orjson.dumps(pairs).decode()!r})[min(runs, 2) - 1])"
    async with whoami() as (server, refused):
        config = await READERS[reader](exec_config(tmp_path, script, server), {})
        async with Client(config) as client:
            assert await client.server_version() == {"commonName": "jane"}
            refused.add("jane")
            assert await client.server_version() == {"commonName": "joe"}
    assert os.listdir(temporary) == []  # noqa: PTH208 - nothing blocks here


@contextlib.asynccontextmanager
async def whoami() -> AsyncIterator[tuple[str, set[str]]]:
    """Serve the name of the client's certificate, and 401 to those in the set."""
    refused: set[str] = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert")
        name = dict(pair for group in peer["subject"] for pair in group)["commonName"]
        if name in refused:
            return web.Response(status=401)
        return web.json_response({"commonName": name})

    context = server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority().cert.decode())
    app = web.Application()
    app.router.add_get("/version", answer)
    async with served(app, context) as url:
        yield url, refused


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder, "cert"), Path(folder, "key")
        cert.write_bytes(issued("localhost").cert)
        key.write_bytes(issued("localhost").key)
        context.load_cert_chain(cert, key)
    return context


@contextlib.asynccontextmanager
async def served(app: web.Application, context: ssl.SSLContext) -> AsyncIterator[str]:
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def identity_provider() -> AsyncIterator[tuple[str, list[str]]]:
    """Serve an OIDC provider that takes each refresh token once; yield its URL and the tokens."""
    taken: list[str] = []

    async def known(request: web.Request) -> web.StreamResponse:
        return web.json_response({"token_endpoint": f"https://{request.host}/token"})

    async def token(request: web.Request) -> web.StreamResponse:
        given = str((await request.post())["refresh_token"])
        if given != f"r{len(taken)}":
            return web.Response(status=400)
        taken.append(given)
        number = len(taken)
        return web.json_response({"id_token": jwt(number, 2**32), "refresh_token": f"r{number}"})

    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", known)
    app.router.add_post("/token", token)
    async with served(app, server_context()) as url:
        yield url, taken


def jwt(number: int, expires: int) -> str:
    claims = orjson.dumps({"exp": expires, "number": number})
    return f"h.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.s"


def oidc_config(path: Path, issuer: str, **more: Any) -> Path:
    config: JsonObject = {"client-id": "c", "client-secret": "s", "idp-issuer-url": issuer, **more}
    user = {"auth-provider": {"name": "oidc", "config": config}}
    path.write_text(yaml.safe_dump(kubeconfig(cluster={"server": "http://k8s"}, user=user)))
    return path


@pytest.mark.parametrize("inline", [True, False])
async def test_an_expired_id_token_is_refreshed_and_so_is_a_refused_one(
    tmp_path: Path, inline: bool
) -> None:
    (tmp_path / "ca.crt").write_bytes(authority().cert)
    ca = (
        {"idp-certificate-authority-data": b64(authority().cert)}
        if inline
        else {"idp-certificate-authority": "ca.crt"}
    )
    async with identity_provider() as (issuer, taken):
        more = {"id-token": jwt(0, 1), "refresh-token": "r0", **ca}
        path = oidc_config(tmp_path / "config", issuer, **more)
        before = path.read_bytes()
        auth = plugin_auth(path)
        assert await auth.header() == f"Bearer {jwt(1, 2**32)}"
        assert await auth.refresh(await auth.header())
        assert await auth.header() == f"Bearer {jwt(2, 2**32)}"
        assert taken == ["r0", "r1"]
    # Nothing is written: it may be mounted read-only.
    assert path.read_bytes() == before


async def test_an_identity_provider_that_nobody_vouches_for_gets_no_token(tmp_path: Path) -> None:
    async with identity_provider() as (issuer, taken):
        path = oidc_config(tmp_path / "config", issuer, **{"refresh-token": "r0"})
        with pytest.raises(ConfigError, match="certificate verify failed"):
            await plugin_auth(path).header()
        assert taken == []


async def test_a_refused_refresh_token_is_an_error(tmp_path: Path) -> None:
    async with identity_provider() as (issuer, _):
        ca = b64(authority().cert)
        more = {"refresh-token": "s3cret", "idp-certificate-authority-data": ca}
        path = oidc_config(tmp_path / "config", issuer, **more)
        with pytest.raises(ConfigError, match="oidc: failed to refresh access token") as problem:
            await plugin_auth(path).header()
        assert "s3cret" not in str(problem.value)
        del more["refresh-token"]
        with pytest.raises(ConfigError, match="there is no refresh-token"):
            await plugin_auth(oidc_config(path, issuer, **more)).header()


async def test_gcloud_gives_a_token_again_when_it_was_refused(tmp_path: Path) -> None:
    exec_config(
        tmp_path,
        'print(json.dumps({"credential": {"access_token": f"g{runs}", '
        f'"token_expiry": "{FAR}"}}}}))',
    )
    config = {"cmd-path": str(tmp_path / "plugin"), "cmd-args": "config config-helper"}
    user = {"auth-provider": {"name": "gcp", "config": config}}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig(cluster={"server": "http://k8s"}, user=user)))
    auth = plugin_auth(path)
    assert await auth.header() == "Bearer g1"
    assert await auth.refresh("Bearer g1")
    assert await auth.header() == "Bearer g2"
