"""Credentials: static, in files that rotate, and those that are obtained again."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeio.connection.auth import RenewedAuth, StaticAuth, token_file
from kubeio.errors import ConfigError


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Source:
    """Gives the header that is set, or raises what is set, and notes what it was asked for."""

    def __init__(self, value: str | Exception | None) -> None:
        self.value = value
        self.asked: list[bool] = []

    async def __call__(self, fresh: bool) -> str | None:
        self.asked.append(fresh)
        await asyncio.sleep(0)
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


async def test_a_fixed_token_cannot_be_refreshed() -> None:
    auth = StaticAuth.bearer("abc")
    assert await auth.header() == "Bearer abc"
    assert not await auth.refresh("Bearer abc")


async def test_nobody_has_no_header() -> None:
    assert await StaticAuth().header() is None
    assert repr(StaticAuth()) == "StaticAuth(none)"


async def test_a_credential_is_obtained_again_after_a_minute() -> None:
    clock, source = Clock(), Source("Bearer one")
    auth = RenewedAuth(source, source="here", clock=clock)
    assert await auth.header() == "Bearer one"
    source.value = "Bearer two"
    clock.now = 59.0
    assert await auth.header() == "Bearer one"
    clock.now = 60.0
    assert await auth.header() == "Bearer two"
    assert source.asked == [False, False]
    assert repr(auth) == "RenewedAuth('here')"


async def test_a_refused_credential_is_obtained_afresh_at_once() -> None:
    source = Source("Bearer one")
    auth = RenewedAuth(source, source="here", clock=Clock())
    refused = await auth.header()
    assert not await auth.refresh(refused)
    source.value = "Bearer two"
    assert await auth.refresh(refused)
    assert await auth.refresh(refused)
    assert await auth.header() == "Bearer two"
    assert source.asked == [False, True, True]


async def test_calls_that_were_refused_together_ask_once() -> None:
    source = Source("Bearer one")
    auth = RenewedAuth(source, source="here", clock=Clock())
    refused = await auth.header()
    assert await asyncio.gather(*(auth.refresh(refused) for _ in range(5))) == [False] * 5
    assert source.asked == [False, True]


async def test_the_last_credential_is_kept_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    clock, source = Clock(), Source("Bearer s3cret")
    auth = RenewedAuth(source, source="here", clock=clock)
    await auth.header()
    source.value = ConfigError("the plugin is gone", source="there")
    clock.now = 60.0
    assert await auth.header() == "Bearer s3cret"
    assert await auth.header() == "Bearer s3cret"
    assert not await auth.refresh("Bearer s3cret")
    assert [record.getMessage() for record in caplog.records] == [
        "keeping the last credential: there: the plugin is gone"
    ] * 2
    assert source.asked == [False, False, True]
    source.value = "Bearer new"
    clock.now = 120.0
    assert await auth.header() == "Bearer new"


async def test_without_any_credential_the_error_is_raised_each_time() -> None:
    source = Source(ConfigError("no login"))
    auth = RenewedAuth(source, source="here", clock=Clock())
    for _ in range(2):
        with pytest.raises(ConfigError, match="no login"):
            await auth.header()


@pytest.mark.parametrize("value", ["Bearer s3cret\r\nHost: x", "Bearer s3crét"])
async def test_what_no_header_can_hold_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="here: the credential holds a line break") as problem:
        await RenewedAuth(Source(value), source="here").header()
    assert "s3cr" not in str(problem.value)


@pytest.mark.parametrize("content", [None, "", " \n", b"\xff"])
async def test_a_token_file_that_never_worked_is_an_error(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match="token"):
        await token_file(path).header()


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
