"""What the routes make of requests that are broken below the JSON: cut off, too large, no HTTP."""

import asyncio
import io
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kudo_webhook.middleware import LIMIT
from tests.support.selection.properties import examples
from tests.unit.webhook.fuzz.contract import (
    assert_lines_are_ours,
    assert_metrics_are_ours,
    log_lines,
    routes,
)
from tests.unit.webhook.fuzz.inputs import CANARY, VERSIONS
from tests.unit.webhook.harness import (
    MUTATE,
    DictVersions,
    Webhook,
    any_certificate,
    instance,
    review,
    running,
)

BODY = json.dumps(review(instance({"PORT": CANARY}), instance())).encode()


async def exchange(webhook: Webhook, wire: bytes, *, hang_up: bool) -> bytes:
    """Send bytes on a connection of its own and return what comes back until it is closed."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", webhook.ports.port, ssl=any_certificate()
    )
    try:
        writer.write(wire)
        await writer.drain()
        if hang_up:
            return b""
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.transport.abort()


def head(path: str, *fields: str) -> bytes:
    start = (f"POST {path} HTTP/1.1", "host: x", "content-type: application/json")
    return "\r\n".join([*start, "connection: close", *fields, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@asynccontextmanager
async def unharmed(tmp_path: Path) -> AsyncIterator[Webhook]:
    """Run a webhook that has to answer as ever afterwards, with clean logs and metrics."""
    with log_lines() as lines:
        async with running(tmp_path, DictVersions(dict(VERSIONS))) as webhook:
            yield webhook
            assert (await webhook.ask(review(instance({"PORT": CANARY}))))["allowed"] is True
            _, metrics = await webhook.probe("/metrics")
        assert CANARY not in metrics
        assert_lines_are_ours(lines)


@pytest.mark.hypothesis
async def test_a_body_that_is_cut_off_anywhere_costs_its_connection_alone(tmp_path: Path) -> None:
    async with unharmed(tmp_path) as webhook:
        for path in routes():
            announced = head(path, f"content-length: {len(BODY)}") + BODY
            chunked = head(path, "transfer-encoding: chunked") + chunk(BODY[:50]) + chunk(BODY[50:])
            for wire in (announced, chunked):
                for end in range(0, len(wire), examples(149, deep=7)):
                    await exchange(webhook, wire[:end], hang_up=True)


async def test_chunks_of_any_size_are_put_together(tmp_path: Path) -> None:
    async with unharmed(tmp_path) as webhook:
        for path, size in itertools.product(routes(), (1, 7, 100, len(BODY))):
            parts = [BODY[at : at + size] for at in range(0, len(BODY), size)]
            wire = (
                head(path, "transfer-encoding: chunked") + b"".join(map(chunk, parts)) + chunk(b"")
            )
            answer = await exchange(webhook, wire, hang_up=False)
            assert answer.startswith(b"HTTP/1.1 200 "), (path, size)
            assert b'"ParameterImmutable"' in answer, (path, size)


NO_HTTP = (
    b"\x16\x03\x01\x00" * 9,
    b"GET\r\n\r\n",
    head(MUTATE, "content-length: -1"),
    head(MUTATE, "content-length: 5", "content-length: 6") + b"hello",
    head(MUTATE, "transfer-encoding: chunked") + b"zz\r\n" + CANARY.encode(),
    head(MUTATE, "x: " + "\0"),
    b"POST /x HTTP/9.9\r\n\r\n",
)


async def test_what_is_no_http_is_answered_with_400(tmp_path: Path) -> None:
    async with unharmed(tmp_path) as webhook:
        for wire in NO_HTTP:
            answer = await exchange(webhook, wire, hang_up=False)
            assert answer.startswith(b"HTTP/1.1 400 "), wire


@pytest.mark.parametrize("over", [1, 2**20])
async def test_a_body_over_the_limit_is_answered_with_413_however_it_is_sent(
    over: int, tmp_path: Path
) -> None:
    body = BODY + b" " * (LIMIT + over - len(BODY))

    async def streamed() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 2**20):
            yield body[at : at + 2**20]

    async with unharmed(tmp_path) as webhook:
        for path in routes():
            for data in (io.BytesIO(body), streamed()):
                async with webhook.session.post(webhook.url + path, data=data) as answer:
                    assert answer.status == 413, path
                    assert (await answer.json())["reason"] == "RequestEntityTooLarge"


async def test_a_body_at_the_limit_is_judged(tmp_path: Path) -> None:
    body = b"{" + b" " * (LIMIT - len(BODY)) + BODY[1:]
    async with running(tmp_path, DictVersions(dict(VERSIONS))) as webhook:
        for path in routes():
            status, answer = await webhook.send(body, path)
            assert status == 200, path
            assert answer["response"]["status"]["reason"] == "ParameterImmutable"
        _, metrics = await webhook.probe("/metrics")
    assert_metrics_are_ours(metrics)
