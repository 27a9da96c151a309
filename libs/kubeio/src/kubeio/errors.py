"""The errors of this package, as one tree.

KubeError
├── ConfigError                  the kubeconfig or the service account cannot be used
├── InvalidPath                  a name does not have the form that Kubernetes gives it; not sent
├── ConnectionLost               no usable answer: network failure, timeout, unreadable answer
│   └── Malformed                an object or event that breaks the API's contract
├── UnknownKind                  the API server serves no such kind
└── ApiError                     the API server answered with an error
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

Errors carry status, reason and causes as attributes. Exceptions of `connection.http` do not
leave this package; they are chained as ``__cause__``. CancelledError passes through.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson

from kubeio.types import Json, JsonObject

LONGEST_RETRY_AFTER: Final = 60.0
"""Seconds. Longer waits asked for by the server, or by a proxy, are cut to this: a client that
returns too early costs one request a minute, one that obeys may stand still for a day."""

_MAX_TEXT = 500
_LONGEST_HEADER = 64
_TOO_LARGE = "Too large resource version"
_MANAGER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')


class KubeError(Exception):
    """The base class of the errors of kubeio."""


class ConfigError(KubeError):
    """The kubeconfig, or the service account, cannot be used.

    Attributes:
        source: the file that is wrong, or ``environment``; None if neither.
        field: path inside the file, such as ``users[admin].user.client-key-data``.
    """

    def __init__(self, problem: str, *, source: Path | str | None = None, field: str = "") -> None:
        self.source = source
        self.field = field
        where = ": ".join(str(part) for part in (source, field) if part)
        super().__init__(f"{where}: {problem}" if where else problem)


class InvalidPath(KubeError):
    """A group, version, resource, namespace, name or subresource cannot be part of an API path.

    Nothing was sent. The text may be a tenant's: the message quotes 80 characters of it.
    """


class ConnectionLost(KubeError):
    """No usable answer: a network failure, a timeout, or an answer that cannot be read.

    Attributes:
        timeout: True after a timeout.
        maybe_sent: False only if the request was certainly not sent, so that a write can be
            repeated safely.
        reason: The message without the request that it begins with, if it begins with one.
    """

    def __init__(
        self, message: str, *, timeout: bool = False, maybe_sent: bool = True, reason: str = ""
    ) -> None:
        self.timeout = timeout
        self.maybe_sent = maybe_sent
        self.reason = reason or message
        super().__init__(message)


class Malformed(ConnectionLost):
    """An object or a watch event breaks the contract of the API; a retry may return the same.

    The message quotes no value, since the object may be a Secret.
    """


class UnknownKind(KubeError):
    """The API server does not serve this kind in this API version."""

    def __init__(self, api_version: str, kind: str) -> None:
        self.api_version = api_version
        self.kind = kind
        super().__init__(f"the API server serves no kind {kind!r} in {api_version!r}")


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of ``details.causes`` of a Status; `reason` is CamelCase."""

    field: str
    message: str
    reason: str


class ApiError(KubeError):
    """The API server answered with a status outside 2xx.

    Attributes:
        status: HTTP status code.
        reason: the CamelCase reason of the Status object, or one derived from the code.
        message: the message of the server.
        details: ``details`` of the Status object, empty if it has none.
        causes: the parsed ``details.causes``.
        retry_after: seconds to wait, at most ``LONGEST_RETRY_AFTER``; None if the server sent none.
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
        self.reason = reason or _kind_of(status)[1] or "Unknown"
        self.message = message
        self.details = details or {}
        self.causes = _causes(self.details)
        # Bounded here, so that no error carries a longer wait, whoever creates it.
        self.retry_after = None if retry_after is None else _bounded(retry_after)
        super().__init__(f"{message or 'refused'} ({status} {self.reason})")

    @property
    def version_too_large(self) -> bool:
        """Whether the resourceVersion is higher than the server's latest one: a 504 Timeout.

        Some API servers say so only in the message (client-go: ``IsTooLargeResourceVersion``).
        """
        named = any(cause.reason == "ResourceVersionTooLarge" for cause in self.causes)
        return named or (self.status == 504 and self.message.startswith(_TOO_LARGE))


class BadRequest(ApiError):
    """400: the server cannot understand the request."""


class Unauthorized(ApiError):
    """401: the credentials are not accepted, also after they were refreshed."""


class Forbidden(ApiError):
    """403: denied by RBAC, by admission, or since the namespace is being deleted."""

    @property
    def namespace_terminating(self) -> bool:
        """Whether the request was denied because the namespace is being deleted."""
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes)


class NotFound(ApiError):
    """404: no such object, or no such resource."""

    @property
    def names_object(self) -> bool:
        """Whether there is no object, or no namespace, of a name.

        Else the path is unknown: the API server does not serve the kind, or not in this version,
        and nothing is known of the object.
        """
        return bool(self.details.get("name"))


class MethodNotAllowed(ApiError):
    """405: the resource does not support this verb."""


class Conflict(ApiError):
    """409: a resourceVersion, uid or field owner is not the expected one."""

    @property
    def field_managers(self) -> dict[str, tuple[str, ...]]:
        """Return the fields that other managers own, by manager, after a server-side apply.

        Empty for other conflicts.
        """
        managers: dict[str, tuple[str, ...]] = {}
        for cause in self.causes:
            if cause.reason == "FieldManagerConflict":
                match = _MANAGER.search(cause.message)
                manager = match[1] if match else cause.message
                managers[manager] = (*managers.get(manager, ()), cause.field)
        return managers


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
    """429: too many requests; wait for ``retry_after`` seconds."""


class ServerError(ApiError):
    """5xx: the server failed. Server-side apply reports schema errors as 500, too."""


class ServerTimeout(ServerError):
    """504: the server ran into a timeout."""


_BY_STATUS: Final[Mapping[int, tuple[type[ApiError], str]]] = {
    400: (BadRequest, "BadRequest"),
    401: (Unauthorized, "Unauthorized"),
    403: (Forbidden, "Forbidden"),
    404: (NotFound, "NotFound"),
    405: (MethodNotAllowed, "MethodNotAllowed"),
    406: (ApiError, "NotAcceptable"),
    408: (ApiError, "RequestTimeout"),
    409: (Conflict, "Conflict"),
    410: (Gone, "Gone"),
    413: (TooLarge, "RequestEntityTooLarge"),
    415: (UnsupportedMediaType, "UnsupportedMediaType"),
    422: (Invalid, "Invalid"),
    429: (TooManyRequests, "TooManyRequests"),
    500: (ServerError, "InternalError"),
    502: (ServerError, "BadGateway"),
    503: (ServerError, "ServiceUnavailable"),
    504: (ServerTimeout, "Timeout"),
}
"""The class of an error, and its reason if the server gives none."""


def _kind_of(status: int) -> tuple[type[ApiError], str]:
    return _BY_STATUS.get(status) or (ServerError if status >= 500 else ApiError, "")


def error_from_response(
    status: int, body: bytes, *, retry_after: str | None = None, subject: str = ""
) -> ApiError:
    """Return the error for an HTTP answer: a Status object, text, or the HTML page of a proxy.

    A Retry-After header that cannot be read is ignored. ``subject``, method and path, is put before
    the text of a body that is no Status object.
    """
    parsed = _status_object(body)
    if parsed is not None:
        return error_from_status(parsed, status=status, retry_after=retry_after)
    error_class, reason = _kind_of(status)
    text = _readable(body) or reason or "unexpected answer"
    message = f"{subject}: {text}" if subject else text
    return error_class(message, status=status, retry_after=_seconds(retry_after))


def error_from_status(
    obj: JsonObject, *, status: int | None = None, retry_after: str | None = None
) -> ApiError:
    """Return the error for a Status object, such as the one of an ERROR event of a watch."""
    code = obj.get("code")
    number = status or (code if isinstance(code, int) and code else 500)
    reason = str(obj.get("reason") or "")
    details = obj.get("details")
    details = details if isinstance(details, dict) else {}
    seconds = _seconds(retry_after)
    if seconds is None:
        seconds = _seconds(details.get("retryAfterSeconds") or None)
    error_class = AlreadyExists if reason == "AlreadyExists" else _kind_of(number)[0]
    message = str(obj.get("message") or "")
    return error_class(message, status=number, reason=reason, details=details, retry_after=seconds)


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
    # float() accepts "inf" and "nan", and reads 1e400 as inf.
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER) if math.isfinite(seconds) else None


def _until(http_date: str) -> float | None:
    # Few servers send a date; each command would pay for the import.
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(http_date)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return _bounded(seconds)
