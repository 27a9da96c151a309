"""Reviews of tokens: what the API server is asked, and what its answers mean."""

import orjson
import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.errors import ApiError, ConnectionLost, Forbidden
from kubeio.token_review import METRICS, TokenReviewer
from kubeio.types import Json, JsonObject
from tests.unit.kubeio.fake_api import FakeApi, Fault, refuse

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
USER = {"username": "system:serviceaccount:monitoring:prometheus", "uid": "1", "groups": ["a"]}
KNOWN = {"authenticated": True, "user": USER}


def status(found: Json) -> Fault:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"status": found})

    return answer


async def test_an_allowed_token_costs_two_reviews(api: FakeApi, client: Client) -> None:
    user = {**USER, "extra": {"pod": ["p"]}}
    api.handlers = {
        TOKENS: status({"authenticated": True, "user": user}),
        ACCESS: status({"allowed": True}),
    }
    assert await TokenReviewer(client, METRICS)("t0k") == "allowed"
    first, second = api.seen
    assert (first.method, first.path, orjson.loads(first.body)) == (
        "POST",
        TOKENS,
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": "t0k"},
        },
    )
    assert (second.method, second.path, orjson.loads(second.body)) == (
        "POST",
        ACCESS,
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": USER["username"],
                "uid": "1",
                "groups": ["a"],
                "extra": {"pod": ["p"]},
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            },
        },
    )


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"authenticated": False, "user": USER},
        {"authenticated": "true", "user": USER},
        {"authenticated": True},
        {"authenticated": True, "user": {"groups": ["system:masters"]}},
        {"error": "token expired"},
    ],
)
async def test_who_is_nobody_is_not_reviewed_further(
    api: FakeApi, client: Client, found: JsonObject
) -> None:
    api.handlers = {TOKENS: status(found), ACCESS: status({"allowed": True})}
    assert await TokenReviewer(client, METRICS)("t0k") == "unauthenticated"
    assert [one.path for one in api.seen] == [TOKENS]


@pytest.mark.parametrize(
    "found", [{}, {"allowed": False}, {"allowed": 1}, {"allowed": True, "denied": True}]
)
async def test_who_may_not_is_forbidden(api: FakeApi, client: Client, found: JsonObject) -> None:
    api.handlers = {TOKENS: status(KNOWN), ACCESS: status(found)}
    assert await TokenReviewer(client, METRICS)("t0k") == "forbidden"


async def test_without_an_answer_it_raises(api: FakeApi, client: Client) -> None:
    reviewer = TokenReviewer(client, METRICS)
    api.handlers = {TOKENS: refuse(403, "Forbidden")}
    with pytest.raises(Forbidden):
        await reviewer("t0k")
    api.handlers = {TOKENS: status(KNOWN), ACCESS: refuse(500, "InternalError")}
    with pytest.raises(ApiError):
        await reviewer("t0k")
    api.handlers = {TOKENS: status("yes")}
    with pytest.raises(ConnectionLost, match="the answer has no status"):
        await reviewer("t0k")
