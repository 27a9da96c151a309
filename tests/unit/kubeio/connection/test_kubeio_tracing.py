"""What a tracer is told: requests, answers and bodies, and no credential."""

from dataclasses import replace

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.auth import StaticAuth
from kubeio.connection.config import ClusterConfig
from kubeio.connection.tracing import TRACED_BYTES, Answered, Sent
from kubeio.errors import ConnectionLost
from tests.unit.kubeio.fake_api import PATH, WIDGET, FakeApi

COLLECTION = "/apis/example.dev/v1/namespaces/ns/widgets"


class Noted:
    """A tracer that remembers."""

    def __init__(self, *, bodies: bool) -> None:
        self.bodies = bodies
        self.requests: list[Sent] = []
        self.answers: list[Answered] = []
        self.contents: list[tuple[bytes, int]] = []

    def sent(self, request: Sent) -> None:
        self.requests.append(request)

    def answered(self, request: Sent, answer: Answered) -> None:
        assert request is self.requests[-1]
        self.answers.append(answer)

    def body(self, request: Sent, content: bytes, size: int) -> None:
        del request
        self.contents.append((content, size))


def config_of(api: FakeApi) -> ClusterConfig:
    server = api.config.server.replace("://", "://user:very-secret@")
    return replace(api.config, server=server)


async def taken(request: web.Request) -> web.StreamResponse:
    del request
    return web.json_response({"metadata": {"name": "a", "namespace": "ns"}}, status=201)


async def text(request: web.Request) -> web.StreamResponse:
    del request
    return web.Response(body=b"x" * (TRACED_BYTES + 10), headers={"Set-Cookie": "very-secret"})


@pytest.mark.parametrize("in_the_url", [False, True])
async def test_requests_and_answers_are_told_without_credentials(
    api: FakeApi, *, in_the_url: bool
) -> None:
    api.handlers[COLLECTION] = taken
    noted = Noted(bodies=True)
    config = replace(api.config, auth=StaticAuth("Bearer very-secret"))
    config = config_of(api) if in_the_url else config
    async with Client(config, tracer=noted) as client:
        await client.create(WIDGET, {"metadata": {"name": "a", "namespace": "ns"}})
        await client.list(WIDGET)
    assert [(one.method, one.url.partition("?")[0]) for one in noted.requests] == [
        ("POST", f"{api.url}{COLLECTION}"),
        ("GET", f"{api.url}{PATH}"),
    ]
    assert noted.requests[0].body == b'{"metadata":{"name":"a","namespace":"ns"}}'
    masked = ("Authorization", "Bearer <masked>") in noted.requests[0].headers
    assert masked is not in_the_url
    assert [answer.status for answer in noted.answers] == [201, 200]
    assert all(answer.seconds > 0 for answer in noted.answers)
    assert all(len(content) == size > 0 for content, size in noted.contents)
    assert "very-secret" not in repr((noted.requests, noted.answers))


async def test_bodies_are_kept_up_to_a_limit(api: FakeApi) -> None:
    api.handlers["/logs"] = text
    noted = Noted(bodies=True)
    async with Client(api.config, tracer=noted) as client, client.text("/logs") as chunks:
        size = sum([len(chunk) async for chunk in chunks])
    assert size == TRACED_BYTES + 10
    assert [(len(content), size) for content, size in noted.contents] == [(TRACED_BYTES, size)]
    assert "very-secret" not in repr(noted.answers)


async def test_bodies_that_nobody_wants_are_not_kept(api: FakeApi) -> None:
    noted = Noted(bodies=False)
    async with Client(api.config, tracer=noted) as client:
        await client.list(WIDGET)
    assert (len(noted.answers), noted.contents) == (1, [])


async def test_a_server_that_cannot_be_reached_is_told(api: FakeApi) -> None:
    noted = Noted(bodies=True)
    config = replace(api.config, server="http://127.0.0.1:1")
    async with Client(config, tracer=noted) as client:
        with pytest.raises(ConnectionLost):
            await client.list(WIDGET)
    assert [(one.status, bool(one.failure)) for one in noted.answers] == [(0, True)]
