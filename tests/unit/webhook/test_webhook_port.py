"""The limits of the admission port, on the real webhook with real TLS."""

import asyncio
from pathlib import Path

import orjson
import pytest

from kudo_webhook.settings import Settings
from serving.connections import PortLimits
from tests.unit.webhook.harness import (
    MUTATE,
    Webhook,
    any_certificate,
    instance,
    review,
    running,
    until,
)

FILES = ["--tls-cert", "c", "--tls-key", "k"]
BODY = orjson.dumps(review(instance()))
CLIENT = any_certificate()
CLOSED = "kudo_admission_connections_closed_total"


def head(size: int) -> bytes:
    return f"POST {MUTATE} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n".encode()


async def send(webhook: Webhook, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", webhook.ports.port, ssl=CLIENT, server_hostname=""
    )
    writer.write(data)
    return reader, writer


async def metric(webhook: Webhook, name: str) -> float:
    _, text = await webhook.probe("/metrics")
    found = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(found[0].split()[1])


async def test_a_hundred_half_open_requests_end_and_others_are_answered_meanwhile(
    tmp_path: Path,
) -> None:
    limits = PortLimits(connections=32, head=1.0, body=1.0, linger=0.2)
    async with running(tmp_path, limits=limits) as webhook:
        halves = [await send(webhook, half) for half in (head(10)[:30], head(10) + b"{") * 50]
        assert (await webhook.ask(review(instance())))["allowed"] is True
        assert await metric(webhook, "kudo_admission_connections") <= 32

        async def all_closed() -> bool:
            reasons = ("head_timeout", "body_timeout", "too_many_connections")
            closed = [await metric(webhook, f'{CLOSED}{{reason="{one}"}}') for one in reasons]
            # A connection of ours that had nothing to ask for a second may have been closed, too.
            return sum(closed) >= 100

        await until(all_closed, seconds=120.0)
        for _, writer in halves:
            writer.transport.abort()


async def test_twenty_held_bodies_hold_no_more_than_their_share(tmp_path: Path) -> None:
    limits = PortLimits(body=60.0, held_bytes=8 * 2**20)
    async with running(tmp_path, limits=limits) as webhook:
        part = b"{" + b" " * (2**20 - 2)
        held = [await send(webhook, head(len(part) + 1) + part) for _ in range(20)]

        async def shed() -> bool:
            return await metric(webhook, f'{CLOSED}{{reason="too_many_bytes"}}') >= 16

        await until(shed, seconds=120.0)
        assert await metric(webhook, "kudo_admission_body_bytes") <= limits.held_bytes
        assert (await webhook.ask(review(instance())))["allowed"] is True
        for _, writer in held:
            writer.transport.abort()

        async def empty() -> bool:
            return await metric(webhook, "kudo_admission_body_bytes") == 0

        await until(empty)


async def test_a_late_body_is_answered_with_408_and_counted(tmp_path: Path) -> None:
    async with running(tmp_path, limits=PortLimits(body=0.2, linger=0.2)) as webhook:
        reader, writer = await send(webhook, head(10) + b"{")
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
        writer.transport.abort()
        assert await metric(webhook, f'{CLOSED}{{reason="body_timeout"}}') == 1


def test_limits_are_options() -> None:
    given = ["--head-seconds=2", "--body-seconds=3.5", "--max-connections=20"]
    limits = Settings.read([*FILES, *given, "--max-body-bytes=20000000"], {}).limits
    assert (limits.handshake, limits.head, limits.body) == (2.0, 2.0, 3.5)
    assert (limits.connections, limits.held_bytes) == (20, 20_000_000)


@pytest.mark.parametrize(
    "option",
    ["--head-seconds=0", "--body-seconds=-1", "--max-connections=15", "--max-body-bytes=4000000"],
)
def test_limits_below_sense_are_refused_by_name(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        Settings.read([*FILES, option], {})
    assert option.partition("=")[0] in capsys.readouterr().err


def test_a_body_of_the_largest_size_has_room_by_default_beside_small_ones() -> None:
    limits = Settings.read(FILES, {}).limits
    assert limits.held_bytes - limits.connections * limits.small >= 4 * 4 * 2**20
    assert limits.small >= 64 * 1024
