"""Credentials: static, from files that rotate, and from plugins."""

import ssl
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from kubeio.connection.auth import PluginAuth, StaticAuth, TokenFileAuth
from kubeio.errors import ConfigError
from tests.unit.kubeio.connection.pki import issued


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_fixed_token_cannot_be_refreshed() -> None:
    auth = StaticAuth.bearer("abc")
    assert await auth.header() == "Bearer abc"
    assert not await auth.refresh("Bearer abc")


async def test_nobody_has_no_header() -> None:
    assert await StaticAuth().header() is None
    assert repr(StaticAuth()) == "StaticAuth(none)"


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "token"
    path.write_text("one\n")
    auth = TokenFileAuth(path, clock=clock)
    assert await auth.header() == "Bearer one"
    path.write_text("two\n")
    clock.now = 59.0
    assert await auth.header() == "Bearer one"
    clock.now = 60.0
    assert await auth.header() == "Bearer two"
    assert "two" not in repr(auth)


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    auth = TokenFileAuth(path, clock=Clock())
    refused = await auth.header()
    assert not await auth.refresh(refused)
    path.write_text("two")
    assert await auth.refresh(refused)
    assert await auth.refresh(refused)
    assert await auth.header() == "Bearer two"


async def test_a_token_file_that_vanishes_keeps_its_last_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, path = Clock(), tmp_path / "token"
    path.write_text("s3cret")
    auth = TokenFileAuth(path, clock=clock)
    await auth.header()
    path.unlink()
    clock.now = 100.0
    assert await auth.header() == "Bearer s3cret"
    assert "keeping the last token" in caplog.text
    assert "s3cret" not in caplog.text
    path.write_text("")
    clock.now = 200.0
    assert await auth.header() == "Bearer s3cret"


@pytest.mark.parametrize("content", [None, "", b"\xff"])
async def test_a_token_file_that_never_worked_is_an_error(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match="token"):
        await TokenFileAuth(path).header()


def exec_config(tmp_path: Path, script: str) -> Path:
    """Write a kubeconfig whose user runs a Python script; it counts its runs in a file."""
    plugin = tmp_path / "plugin"
    counting = f"""#!{sys.executable}
import json, pathlib
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
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://k8s"}}],
        "users": [{"name": "u", "user": {"exec": run}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    return path


async def test_an_exec_plugin_gives_a_token_until_it_is_refused(tmp_path: Path) -> None:
    script = 'give(token=f"t{runs}", expirationTimestamp="2099-01-01T00:00:00Z")'
    clock = Clock()
    auth = PluginAuth(str(exec_config(tmp_path, script)), "main", None, clock=clock)
    assert await auth.header() == "Bearer t1"
    clock.now = 3600.0
    assert await auth.header() == "Bearer t1"
    assert await auth.refresh("Bearer t1")
    assert await auth.refresh("Bearer t1")
    assert await auth.header() == "Bearer t2"
    assert "t2" not in repr(auth)


async def test_an_expired_token_is_replaced_without_a_refusal(tmp_path: Path) -> None:
    script = 'give(token=f"t{runs}", expirationTimestamp="2001-01-01T00:00:00Z")'
    clock = Clock()
    auth = PluginAuth(str(exec_config(tmp_path, script)), "main", None, clock=clock)
    assert await auth.header() == "Bearer t1"
    clock.now = 61.0
    assert await auth.header() == "Bearer t2"


async def test_where_plugins_are_not_installed_the_package_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes_asyncio", None)
    path = exec_config(tmp_path, "give(token='abc')")
    with pytest.raises(ConfigError, match=r"through a plugin: install kudo-kubeio\[plugins\]"):
        await PluginAuth(str(path), "main", None).header()


async def test_a_plugin_may_give_a_client_certificate(tmp_path: Path) -> None:
    pair = issued("plugin")
    certificate = orjson.dumps(
        {"clientCertificateData": pair.cert.decode(), "clientKeyData": pair.key.decode()}
    ).decode()
    loaded: list[tuple[str, str]] = []

    class Recording(ssl.SSLContext):
        def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
            super().load_cert_chain(certfile, keyfile, password)
            loaded.append((certfile, keyfile))

    config = exec_config(tmp_path, f"give(**json.loads({certificate!r}))")
    config.write_text(config.read_text().replace("http://k8s", "https://k8s"))
    auth = PluginAuth(str(config), "main", Recording(ssl.PROTOCOL_TLS_CLIENT))
    assert await auth.header() is None
    assert len(loaded) == 1


@pytest.mark.parametrize("script", ['raise SystemExit("no login")', "print('{}')", "print('<')"])
async def test_a_plugin_that_fails_is_named(tmp_path: Path, script: str) -> None:
    path = exec_config(tmp_path, script)
    auth = PluginAuth(str(path), "main", None)
    with pytest.raises(ConfigError, match="context 'main': cannot obtain a credential") as problem:
        await auth.header()
    assert problem.value.source == str(path)


def test_the_heavy_library_is_not_imported_without_need(tmp_path: Path) -> None:
    config = {
        "current-context": "m",
        "clusters": [{"name": "c", "cluster": {"server": "http://k8s"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "m", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    code = (
        "import sys, kubeio.client, kubeio.cache.informers, kubeio.discovery;"
        "import kubeio.connection.config as c;"
        f"c.load_config({str(path)!r});"
        "sys.exit('kubernetes_asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_errors_and_resources_are_importable_without_http() -> None:
    code = (
        "import sys, kubeio.errors, kubeio.resource, kubeio.jsonpatch;"
        "sys.exit('aiohttp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
