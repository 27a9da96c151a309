"""Acting as somebody else: what identities may hold, and which headers each request carries."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.auth import Identity, StaticAuth
from kubeio.connection.round_tripper import RequestSeen
from kubeio.errors import KubeError
from kubeio.types import JsonObject
from tests.unit.kubeio.fake_api import PATH, WIDGET, FakeApi

OBJECT: JsonObject = {"metadata": {"name": "a", "namespace": "ns"}}
BUILDER = Identity.service_account("ci", "builder")
JANE = Identity("jane")
AS_BUILDER = [
    ("Impersonate-User", "system:serviceaccount:ci:builder"),
]
AS_JANE = [("Impersonate-User", "jane")]


class NotLeading(Exception):
    """What a guard of writes raises."""


class Renewed(StaticAuth):
    """A credential that can always be made fresh."""

    async def refresh(self, rejected: str | None) -> bool:
        assert rejected
        return True


Send = Callable[[Client], Awaitable[Any]]


async def _watch(client: Client) -> None:
    async with aclosing(client.watch(WIDGET, resource_version="10")) as watch:
        async for _ in watch:
            pass


SENDS: dict[str, Send] = {
    "get": lambda client: client.get(WIDGET, "a", namespace="ns"),
    "list": lambda client: client.list(WIDGET),
    "watch": _watch,
    "create": lambda client: client.create(WIDGET, OBJECT),
    "apply": lambda client: client.apply(WIDGET, OBJECT, field_manager="me"),
    "merge patch": lambda client: client.merge_patch(WIDGET, "a", {}, namespace="ns"),
    "JSON patch": lambda client: client.json_patch(WIDGET, "a", [], namespace="ns"),
    "replace": lambda client: client.replace(WIDGET, OBJECT),
    "delete": lambda client: client.delete(WIDGET, "a", namespace="ns"),
    "exec": lambda client: client.exec("p", "c", ("true",), namespace="ns", limit=10),
    "raw": lambda client: client.raw("GET", "/apis"),
    "version": lambda client: client.server_version(),
}


class Requests:
    """The impersonation headers of every request that reaches a server; all are refused."""

    def __init__(self, api: FakeApi) -> None:
        self.seen: list[list[tuple[str, str]]] = []
        self.status = 403
        self._api = api
        for path in (PATH, "/apis", "/version", "/api/v1/namespaces/ns/pods/p/exec"):
            api.handlers[path] = self._answer
        for path in ("", "/a"):
            api.handlers[f"/apis/example.dev/v1/namespaces/ns/widgets{path}"] = self._answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        headers = request.headers.items()
        self.seen.append([one for one in headers if one[0].lower().startswith("impersonate-")])
        return web.json_response({}, status=self.status)


@pytest.fixture
def requests(api: FakeApi) -> Requests:
    return Requests(api)


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
async def test_every_request_of_a_view_names_its_identity_and_no_other_does(
    requests: Requests, client: Client, send: Send
) -> None:
    for sender in (client.acting(BUILDER), client, client.acting(JANE), client.acting(None)):
        with pytest.raises(KubeError):
            await send(sender)
    assert requests.seen == [AS_BUILDER, [], AS_JANE, []]


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
async def test_a_request_repeated_with_a_fresh_credential_names_it_again(
    api: FakeApi, requests: Requests, send: Send
) -> None:
    requests.status = 401
    async with Client(replace(api.config, auth=Renewed("Bearer t"))) as client:
        with pytest.raises(KubeError):
            await send(client.acting(BUILDER))
    assert requests.seen == [AS_BUILDER, AS_BUILDER]


async def test_an_identity_takes_the_place_of_the_configured_one(
    api: FakeApi, requests: Requests
) -> None:
    configured = (
        ("Impersonate-User", "root"),
        ("impersonate-group", "system:masters"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Extra-scopes", "all"),
    )
    async with Client(replace(api.config, headers=configured)) as client:
        for sender in (client.acting(JANE), client.acting(JANE).acting(None)):
            with pytest.raises(KubeError):
                await sender.list(WIDGET)
    assert requests.seen[0] == AS_JANE
    assert [one[1] for one in requests.seen[1]] == ["root", "system:masters", "7", "all"]


def test_a_client_that_acts_so_already_returns_itself(client: Client) -> None:
    assert client.acting(None) is client
    view = client.acting(BUILDER)
    assert view.acting(Identity.service_account("ci", "builder")) is view
    assert view.acting(None).identity is None
    assert client.identity is None


async def test_hooks_set_later_hold_for_views(api: FakeApi, client: Client) -> None:
    view = client.acting(BUILDER)
    warned: list[str] = []
    ended: list[RequestSeen] = []
    client.on_warning, client.on_request = warned.append, ended.append

    async def warning(request: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers={"Warning": '299 - "beware"'})

    api.handlers["/version"] = warning
    await view.server_version()
    assert warned == ["beware"]
    assert [one.status for one in ended] == [200]

    def refuse() -> None:
        raise NotLeading

    client.before_write = refuse
    sent = len(api.seen)
    for name in ("create", "exec"):
        with pytest.raises(NotLeading):
            await SENDS[name](view)
    assert len(api.seen) == sent


@pytest.mark.parametrize(
    "name", ["", " jane", "jane ", "ja\r\nX-Other: 1", "ja\nne", "ja\x00ne", "jané", "ja\tne"]
)
def test_names_that_a_header_cannot_carry_unchanged_are_errors(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a user"):
        Identity(name)
    with pytest.raises(ValueError, match="cannot be the name of a group"):
        Identity("jane", ("dev", name))


@pytest.mark.parametrize(
    "name", ["", "a:b", "A", "a b", "a/b", "-a", "a-", "a\nb", "a\n", "x" * 254]
)
def test_a_service_account_is_named_by_names_alone(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a namespace"):
        Identity.service_account(name, "default")
    with pytest.raises(ValueError, match="cannot be the name of a service account"):
        Identity.service_account("default", name)


def test_an_error_quotes_little() -> None:
    with pytest.raises(ValueError, match="identity") as long:
        Identity.service_account("default", "X" * 10_000)
    assert len(str(long.value)) < 120
