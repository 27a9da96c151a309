"""A write whose caller is cancelled is awaited, so that nothing of it arrives later."""

import asyncio

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.loops import finished
from kubeio.types import JsonObject
from tests.unit.kubeio.fake_api import WIDGET, FakeApi

OBJECT: JsonObject = {"apiVersion": "example.dev/v1", "kind": "Widget"} | {
    "metadata": {"name": "a", "namespace": "ns"}
}
NS_PATH = "/apis/example.dev/v1/namespaces/ns/widgets"


class Slow:
    """An API whose answers wait until they are let through."""

    def __init__(self) -> None:
        self.arrived, self.let_through = asyncio.Event(), asyncio.Event()
        self.answered = False

    async def __call__(self, _: web.Request) -> web.StreamResponse:
        self.arrived.set()
        await self.let_through.wait()
        self.answered = True
        return web.json_response(OBJECT)


async def cancelled(
    client: Client, slow: Slow, *, dry_run: bool = False
) -> "asyncio.Task[JsonObject]":
    """Return a creation that was cancelled after it had arrived."""
    call = asyncio.create_task(client.create(WIDGET, OBJECT, dry_run=dry_run))
    await slow.arrived.wait()
    call.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    return call


async def test_a_cancelled_write_ends_after_its_answer(api: FakeApi) -> None:
    slow = Slow()
    api.handlers[NS_PATH] = slow
    async with Client(api.config, finish_writes=True) as client:
        call = await cancelled(client, slow)
        assert not call.done()
        slow.let_through.set()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert slow.answered


async def test_a_cancelled_dry_run_ends_at_once(api: FakeApi) -> None:
    slow = Slow()
    api.handlers[NS_PATH] = slow
    async with Client(api.config, finish_writes=True) as client:
        call = await cancelled(client, slow, dry_run=True)
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not slow.answered


async def test_a_second_cancellation_ends_the_call() -> None:
    ended = []

    async def call() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(finished(call()))
    await asyncio.sleep(0)
    for _ in range(2):
        task.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_a_result_and_a_failure_pass_through() -> None:
    async def answer(value: int) -> int:
        if value < 0:
            raise ValueError("negative")
        return value

    assert await finished(answer(3)) == 3
    with pytest.raises(ValueError, match="negative"):
        await finished(answer(-1))
