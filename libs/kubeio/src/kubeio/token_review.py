"""Asks the API server whose a bearer token is, and whether they may reach a path of ours."""

from typing import Final, Literal

from kubeio.client import Client
from kubeio.errors import ConnectionLost
from kubeio.types import Json, JsonObject

Verdict = Literal["allowed", "forbidden", "unauthenticated"]

METRICS: Final = "/metrics"
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class TokenReviewer:
    """Authorizes tokens for GET of one path that is no resource of the API.

    Args:
        client: Sends the reviews; its user needs `create` of tokenreviews and
            subjectaccessreviews. A `before_write` hook would be called for each.
        path: For RBAC, one of `nonResourceURLs`.
    """

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path

    async def __call__(self, token: str) -> Verdict:
        """Return what the holder of a token may do; two requests, one for an unknown token.

        Raises:
            ApiError, ConnectionLost, TimeoutError: the API server gave no answer.
        """
        user = await self._user(token)
        if user is None:
            return "unauthenticated"
        return "allowed" if await self._may_get(user) else "forbidden"

    async def _user(self, token: str) -> JsonObject | None:
        status = await self._review(_TOKENS, "TokenReview", {"token": token})
        user = status.get("user")
        if status.get("authenticated") is not True or not isinstance(user, dict):
            return None
        # A user without a name would be reviewed as nobody in particular.
        return user if user.get("username") else None

    async def _may_get(self, user: JsonObject) -> bool:
        spec = {
            "user": user["username"],
            "nonResourceAttributes": {"path": self._path, "verb": "get"},
            **{name: user[name] for name in ("uid", "groups", "extra") if user.get(name)},
        }
        status = await self._review(_ACCESS, "SubjectAccessReview", spec)
        return status.get("allowed") is True and status.get("denied") is not True

    async def _review(self, path: str, kind: str, spec: JsonObject) -> JsonObject:
        group_version = path.removeprefix("/apis/").rpartition("/")[0]
        body = {"apiVersion": group_version, "kind": kind, "spec": spec}
        answer: Json = await self._client.raw("POST", path, body=body)
        status = answer.get("status") if isinstance(answer, dict) else None
        if not isinstance(status, dict):
            raise ConnectionLost(f"POST {path}: the answer has no status")
        return status
