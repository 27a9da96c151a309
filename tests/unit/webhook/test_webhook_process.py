"""The console script as a process: start, refusals, stop."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.unit.webhook.harness import until, write_pair

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
"""


async def start(directory: Path, **environ: str) -> asyncio.subprocess.Process:
    write_pair(directory)
    options: Mapping[str, str] = {
        "HOST": "127.0.0.1",
        "PORT": "0",
        "PROBE_HOST": "127.0.0.1",
        "PROBE_PORT": "0",
        "TLS_CERT": str(directory / "tls.crt"),
        "TLS_KEY": str(directory / "tls.key"),
        "DRAIN_SECONDS": "0",
        **environ,
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kudo_webhook",
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **{f"KUDO_WEBHOOK_{name}": value for name, value in options.items()}},
    )


async def line(process: asyncio.subprocess.Process, message: str) -> dict[str, Any]:
    """Return the next log line with this message."""
    assert process.stderr is not None
    async with asyncio.timeout(30):
        async for text in process.stderr:
            entry: dict[str, Any] = orjson.loads(text)
            if entry["message"] == message:
                return entry
    raise AssertionError(f"no line {message!r}")


async def ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(30):
        return await process.wait()


async def test_it_starts_without_an_api_server_is_not_ready_and_stops_on_sigterm(
    tmp_path: Path,
) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    process = await start(tmp_path, KUBECONFIG=str(tmp_path / "config"))
    ports = await line(process, "listening")
    async with aiohttp.ClientSession() as session:

        async def waits_for_the_api_server_alone() -> bool:
            async with session.get(f"http://127.0.0.1:{ports['probe_port']}/readyz") as answer:
                assert answer.status == 503
                return list((await answer.json())["failing"]) == ["operatorversions"]

        await until(waits_for_the_api_server_alone, seconds=60)
    process.send_signal(signal.SIGTERM)
    await line(process, "stopped")
    assert await ended(process) == 0


async def test_a_missing_kubeconfig_is_named_and_ends_with_code_1(tmp_path: Path) -> None:
    process = await start(tmp_path, KUBECONFIG=str(tmp_path / "missing"))
    assert str(tmp_path / "missing") in (await line(process, "cannot start"))["error"]
    assert await ended(process) == 1
