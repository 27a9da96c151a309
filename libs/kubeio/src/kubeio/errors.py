"""What can go wrong between us and a Kubernetes API server, as one tree.

KubeError
├── ConfigError                  the kubeconfig or the service account cannot be used
├── ConnectionLost               no answer: network failure, timeout, unreadable answer
│   └── Malformed                an object or event that is not what the API promises
├── UnknownKind                  the API server serves no such kind
└── ApiError                     the API server answered, and refused
    ├── BadRequest            400
    ├── Unauthorized          401
    ├── Forbidden             403
    ├── NotFound              404
    ├── MethodNotAllowed      405
    ├── Conflict              409
    │   └── AlreadyExists     409, reason AlreadyExists
    ├── Gone                  410
    ├── TooLarge              413
    ├── UnsupportedMediaType  415
    ├── Invalid               422
    ├── TooManyRequests       429
    └── ServerError           5xx
        └── ServerTimeout     504

Errors carry data (status, reason, causes); nobody needs to parse their text. Exceptions of
aiohttp never leave this package: they are chained as ``__cause__``. Cancellation is not an
error and passes through untouched.
"""

import email.utils
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final

import orjson

from kubeio.types import Json, JsonObject

LONGEST_RETRY_AFTER: Final = 60.0
"""Seconds. What a server, or a proxy before it, asks for beyond that is not waited: who comes back
sooner costs it one request a minute, who does as told may have stopped working for a day."""

_MAX_TEXT = 500
_LONGEST_HEADER = 64
_TOO_LARGE = "Too large resource version"
_MANAGER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')


class KubeError(Exception):
    """Root of everything that kubeio raises on purpose."""


class ConfigError(KubeError):
    """Access to the cluster is not described well enough to try it.

    Attributes:
        source: the file (or environment) that is at fault, None if there is none.
        field: path inside the file, such as ``users[admin].user.client-key-data``.
    """

    def __init__(self, problem: str, *, source: Path | str | None = None, field: str = "") -> None:
        self.source = source
        self.field = field
        where = ": ".join(str(part) for part in (source, field) if part)
        super().__init__(f"{where}: {problem}" if where else problem)


class ConnectionLost(KubeError):
    """No usable answer arrived: the network failed, time ran out, the answer was unreadable.

    Attributes:
        timeout: True if time ran out.
        maybe_sent: False only if the request certainly never left this process, so that a
            write can be repeated without asking what it did the first time.
    """

    def __init__(self, message: str, *, timeout: bool = False, maybe_sent: bool = True) -> None:
        self.timeout = timeout
        self.maybe_sent = maybe_sent
        super().__init__(message)


class Malformed(ConnectionLost):
    """An object or a watch event is not what the API promises; asking again may bring the same.

    The text says what is wrong and quotes no value, which may be one of a Secret.
    """


class UnknownKind(KubeError):
    """Discovery knows no such kind in that API version."""

    def __init__(self, api_version: str, kind: str) -> None:
        self.api_version = api_version
        self.kind = kind
        super().__init__(f"the API server serves no kind {kind!r} in {api_version!r}")


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a Status's ``details.causes``: which field, what, and why (CamelCase)."""

    field: str
    message: str
    reason: str


class ApiError(KubeError):
    """The API server answered with a status outside 2xx.

    Attributes:
        status: HTTP status code.
        reason: the CamelCase reason of the Status object, or one made from the code.
        message: the server's own words.
        details: the Status object's ``details``, empty if there were none.
        causes: the parsed ``details.causes``.
        retry_after: seconds the server asks us to wait, at most ``LONGEST_RETRY_AFTER``; None if
            it does not say.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        details: JsonObject | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.reason = reason or _REASONS.get(status, "Unknown")
        self.message = message
        self.details = details or {}
        self.causes = _causes(self.details)
        # Here, so that no error carries a longer wait, wherever it was made.
        self.retry_after = None if retry_after is None else _bounded(retry_after)
        super().__init__(f"{message or 'refused'} ({status} {self.reason})")

    @property
    def version_too_large(self) -> bool:
        """True if the server does not know the resourceVersion yet, or never will: 504 Timeout.

        API servers that name no cause for it say it in the message (``IsTooLargeResourceVersion``
        of client-go).
        """
        named = any(cause.reason == "ResourceVersionTooLarge" for cause in self.causes)
        return named or (self.status == 504 and self.message.startswith(_TOO_LARGE))


class BadRequest(ApiError):
    """400: the request cannot be understood."""


class Unauthorized(ApiError):
    """401: who we are is not known, also after fresh credentials were tried."""


class Forbidden(ApiError):
    """403: not allowed by RBAC, by an admission rule, or in a terminating namespace."""

    @property
    def namespace_terminating(self) -> bool:
        """True if the refusal is only that the namespace is being deleted."""
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes)


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class MethodNotAllowed(ApiError):
    """405: the resource does not support this verb."""


class Conflict(ApiError):
    """409: a resourceVersion, uid or field owner is not the expected one."""

    @property
    def field_managers(self) -> dict[str, tuple[str, ...]]:
        """Return what other managers own, as manager → fields, of a server-side apply conflict.

        Empty for every other conflict.
        """
        found: dict[str, tuple[str, ...]] = {}
        for cause in self.causes:
            if cause.reason == "FieldManagerConflict":
                match = _MANAGER.search(cause.message)
                manager = match[1] if match else cause.message
                found[manager] = (*found.get(manager, ()), cause.field)
        return found


class AlreadyExists(Conflict):
    """409 AlreadyExists: the name is taken."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class TooLarge(ApiError):
    """413: the request body is too large."""


class UnsupportedMediaType(ApiError):
    """415: the resource does not take this patch type."""


class Invalid(ApiError):
    """422: validation failed; ``causes`` names the fields."""


class TooManyRequests(ApiError):
    """429: slow down, see ``retry_after``."""


class ServerError(ApiError):
    """5xx: the server failed; server-side apply also reports schema errors this way."""


class ServerTimeout(ServerError):
    """504: the server gave up waiting."""


class _Classes:
    by_status: ClassVar[dict[int, type[ApiError]]] = {
        400: BadRequest,
        401: Unauthorized,
        403: Forbidden,
        404: NotFound,
        405: MethodNotAllowed,
        409: Conflict,
        410: Gone,
        413: TooLarge,
        415: UnsupportedMediaType,
        422: Invalid,
        429: TooManyRequests,
        504: ServerTimeout,
    }


_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    408: "RequestTimeout",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    502: "BadGateway",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def error_from_response(
    status: int, body: bytes, *, retry_after: str | None = None, subject: str = ""
) -> ApiError:
    """Return the error that fits an HTTP answer; never fails, whatever the body holds.

    Args:
        status: HTTP status code.
        body: the raw body: a Status object, or text, or a proxy's HTML page.
        retry_after: the Retry-After header, in seconds or as an HTTP date; what cannot be read
            counts as missing.
        subject: method and path, used where the body says nothing readable.
    """
    parsed = _status_object(body)
    if parsed is not None:
        return error_from_status(parsed, status=status, retry_after=retry_after)
    text = _readable(body) or _REASONS.get(status, "unexpected answer")
    message = f"{subject}: {text}" if subject else text
    return _class_for(status, "")(message, status=status, retry_after=_seconds(retry_after))


def error_from_status(
    obj: JsonObject, *, status: int | None = None, retry_after: str | None = None
) -> ApiError:
    """Return the error that fits a Status object, such as the one of a watch's ERROR event."""
    code = obj.get("code")
    number = status or (code if isinstance(code, int) and code else 500)
    reason = str(obj.get("reason") or "")
    details = obj.get("details")
    details = details if isinstance(details, dict) else {}
    seconds = _seconds(retry_after)
    if seconds is None:
        seconds = _seconds(details.get("retryAfterSeconds") or None)
    cls = _class_for(number, reason)
    message = str(obj.get("message") or "")
    return cls(message, status=number, reason=reason, details=details, retry_after=seconds)


def _class_for(status: int, reason: str) -> type[ApiError]:
    if reason == "AlreadyExists":
        return AlreadyExists
    found = _Classes.by_status.get(status)
    if found is not None:
        return found
    return ServerError if status >= 500 else ApiError


def _status_object(body: bytes) -> JsonObject | None:
    try:
        parsed: Json = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    is_status = isinstance(parsed, dict) and parsed.get("kind") == "Status"
    return parsed if is_status else None


def _readable(body: bytes) -> str:
    text = body[: 8 * _MAX_TEXT].decode("utf-8", "replace")
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL | re.IGNORECASE)
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"


def _causes(details: Mapping[str, Json]) -> tuple[Cause, ...]:
    raw = details.get("causes")
    entries = [entry for entry in raw if isinstance(entry, dict)] if isinstance(raw, list) else []
    return tuple(
        Cause(
            field=str(entry.get("field") or ""),
            message=str(entry.get("message") or ""),
            reason=str(entry.get("reason") or ""),
        )
        for entry in entries
    )


def _seconds(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value)
    if len(text) > _LONGEST_HEADER:
        return None
    try:
        return _bounded(float(text))
    except ValueError:
        return _until(text)


def _bounded(seconds: float) -> float | None:
    # float() reads "inf" and "nan", too, and 1e400 is inf.
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER) if math.isfinite(seconds) else None


def _until(http_date: str) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(http_date)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return _bounded(seconds)
