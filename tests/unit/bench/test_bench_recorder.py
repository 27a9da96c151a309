"""The recorder between a client and a server, over real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from kubeio.connection.config import ClusterConfig
from tests.bench.floor.recorder import Recorder, recording

ONE = "/api/v1/namespaces/one/configmaps"
OTHER = "/api/v1/namespaces/other/configmaps"


class Server:
    """Answers 201, or 409 to what is called `taken`; `slow` waits for ever."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def handle(self, request: web.Request) -> web.Response:
        name = (await request.json())["name"]
        if name == "slow":
            self.reached.set()
            await asyncio.Event().wait()
        return web.json_response({"name": name}, status=409 if name == "taken" else 201)


@asynccontextmanager
async def recorder() -> AsyncIterator[tuple[Recorder, Server, aiohttp.ClientSession, str]]:
    server, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    upstream = ClusterConfig(f"http://{host}:{port}")
    async with recording(upstream) as (found, url), aiohttp.ClientSession() as session:
        yield found, server, session, url
    await runner.cleanup()


async def test_requests_for_one_namespace_are_kept_with_their_answers() -> None:
    async with recorder() as (found, _, session, url):
        found.follow("one")
        for path, name in ((ONE, "a"), (OTHER, "b"), (ONE, "c")):
            async with session.post(url + path, params={"x": "1"}, json={"name": name}) as answer:
                assert (answer.status, await answer.json()) == (201, {"name": name})
        kept = [(one.path, one.body, one.answer, one.query) for one in found.exchanges]
        assert kept == [(ONE, {"name": name}, {"name": name}, {"x": "1"}) for name in ("a", "c")]
        assert not found.disturbed


async def test_a_refused_write_disturbs_a_recording_until_the_next_one() -> None:
    async with recorder() as (found, _, session, url):
        found.follow("one")
        async with session.post(url + ONE, json={"name": "taken"}) as answer:
            assert answer.status == 409
        assert found.disturbed
        found.follow("other")
        assert (found.exchanges, found.disturbed) == ([], False)


async def test_a_request_that_was_given_up_disturbs_a_recording() -> None:
    async with recorder() as (found, server, session, url):
        found.follow("one")
        task = asyncio.create_task(session.post(url + ONE, json={"name": "slow"}))
        await server.reached.wait()
        task.cancel()
        await asyncio.wait([task])
        assert found.exchanges == []
        assert found.disturbed
