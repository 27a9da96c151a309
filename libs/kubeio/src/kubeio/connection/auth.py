"""Credentials and impersonation: the headers that say who sends a request.

Invariants: an identity is validated when it is created, so text of a tenant can neither add a
header nor name another account. No secret appears in a ``repr`` or in an error; calls that were
rejected with the same credential refresh it once, together. Client certificates are part of the TLS
context (`tls`).
"""

import asyncio
import base64
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, Self

from kubeio.errors import ConfigError
from kubeio.names import is_label, is_subdomain
from kubeio.types import Headers

_PREFIX: Final = "impersonate-"
_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and its groups, for impersonation.

    The credential of the client needs the verb ``impersonate`` on the user and on each group.

    Attributes:
        user: Name of the user.
        groups: Names of its groups; the API server adds ``system:authenticated``.

    Raises:
        ValueError: a name is empty, has characters other than printable ASCII, or begins or ends
            with a space; HTTP headers cannot carry it unchanged.
    """

    user: str
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check("user", self.user, _is_header_value)
        for group in self.groups:
            _check("group", group, _is_header_value)

    @classmethod
    def service_account(cls, namespace: str, name: str) -> Self:
        """Return the identity of a service account.

        It has no groups: the API server adds those of a service account. Groups that are sent need
        the right to impersonate groups, which no namespace bounds.

        Raises:
            ValueError: a name is not valid for a namespace or for a service account.
        """
        _check("namespace", namespace, is_label)
        _check("service account", name, is_subdomain)
        return cls(f"system:serviceaccount:{namespace}:{name}")

    @property
    def headers(self) -> Headers:
        """Return the headers that make the API server act as this identity."""
        groups = (("Impersonate-Group", group) for group in self.groups)
        return (("Impersonate-User", self.user), *groups)


def impersonating(headers: Headers, identity: Identity | None) -> Headers:
    """Return `headers` with the impersonation of `identity` in place of theirs.

    None returns them unchanged.
    """
    if identity is None:
        return headers
    # A group, uid or extra of another user that stays would give its rights to this identity.
    others = (header for header in headers if not header[0].lower().startswith(_PREFIX))
    return (*others, *identity.headers)


def _is_header_value(text: str) -> bool:
    return _VALUE.fullmatch(text) is not None


def _check(what: str, text: str, is_valid: Callable[[str], bool]) -> None:
    if not is_valid(text):
        # Cut to 40 characters: the text may come from an object of a tenant.
        raise ValueError(f"identity: {text[:40]!r} cannot be the name of a {what}")


log = logging.getLogger(__name__)

RENEW_AFTER: Final = 60.0
"""Seconds; the kubelet renews bound tokens long before they expire."""

_AUTHORIZATION: Final = re.compile(r"[ -~]*")

Obtain = Callable[[bool], Awaitable[str | None]]
"""Returns the value of the header, None for a client certificate. It is called with True after a
401: nothing that was kept may be returned then. It raises ConfigError."""


class Auth(Protocol):
    """Supplies the Authorization header of each request."""

    async def header(self) -> str | None:
        """Return the value of the header, None to send none (client certificate, anonymous).

        Raises:
            ConfigError: the credential cannot be obtained.
        """

    async def refresh(self, rejected: str | None) -> bool:
        """Get a new credential if ``rejected``, which was answered with 401, is the current one.

        Returns:
            True if ``header`` now returns another value, so that one retry makes sense.
        """


class StaticAuth:
    """A fixed header; None for a client certificate or for anonymous access."""

    def __init__(self, value: str | None = None) -> None:
        self._value = value

    @classmethod
    def bearer(cls, token: str) -> "StaticAuth":
        """Return credentials of a fixed bearer token."""
        return cls(f"Bearer {token.strip()}")

    @classmethod
    def basic(cls, username: str, password: str) -> "StaticAuth":
        """Return credentials of a user name and a password (basic auth)."""
        pair = f"{username}:{password}".encode()
        return cls("Basic " + base64.b64encode(pair).decode())

    async def header(self) -> str | None:
        return self._value

    async def refresh(self, rejected: str | None) -> bool:
        return rejected != self._value

    def __repr__(self) -> str:
        scheme = self._value.split(" ", 1)[0] + " <redacted>" if self._value else "none"
        return f"StaticAuth({scheme})"


class RenewedAuth:
    """A credential that is obtained again every minute and after a 401.

    If it cannot be obtained again, the last one stays in use, with a warning: it may be valid for
    some time, and the kubelet may be replacing the files of a projected volume at that moment.
    """

    def __init__(
        self, obtain: Obtain, *, source: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Obtain nothing yet; ``source`` says where it comes from, for messages."""
        self._obtain = obtain
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        self._value: str | None = None
        self._has_value = False
        self._asked = 0
        self._asked_at = 0.0

    async def header(self) -> str | None:
        if not self._has_value:
            async with self._lock:
                if not self._has_value:
                    await self._renew(fresh=False)
        elif self._clock() - self._asked_at >= RENEW_AFTER:
            # Set before, so that concurrent calls go on with the current credential.
            self._asked_at = self._clock()
            async with self._lock:
                await self._renew_or_keep(fresh=False)
        return self._value

    async def refresh(self, rejected: str | None) -> bool:
        before = self._asked
        async with self._lock:
            # Others that were rejected with the same one may have asked for another meanwhile.
            if self._value == rejected and self._asked == before:
                await self._renew_or_keep(fresh=True)
        # None again may come with a new client certificate.
        return self._value != rejected or self._value is None

    async def _renew_or_keep(self, *, fresh: bool) -> None:
        try:
            await self._renew(fresh=fresh)
        except ConfigError as error:
            log.warning("keeping the last credential: %s", error)

    async def _renew(self, *, fresh: bool) -> None:
        try:
            value = await self._obtain(fresh)
        finally:
            self._asked += 1
        if value is not None and _AUTHORIZATION.fullmatch(value) is None:
            problem = "the credential holds a line break or characters beyond ASCII"
            raise ConfigError(problem, source=self._source)
        self._asked_at = self._clock()
        self._value = value
        self._has_value = True

    def __repr__(self) -> str:
        return f"RenewedAuth({self._source!r})"


def token_file(path: Path) -> RenewedAuth:
    """Return the credentials of a bearer token in a file that is rotated."""

    async def obtain(_fresh: bool) -> str:
        try:
            token = (await asyncio.to_thread(path.read_text)).strip()
        except OSError as error:
            problem = f"cannot read the token file: {error.strerror}"
            raise ConfigError(problem, source=path) from error
        except UnicodeDecodeError:
            raise ConfigError("the token file is no text", source=path) from None
        if not token:
            raise ConfigError("the token file is empty", source=path)
        return f"Bearer {token}"

    return RenewedAuth(obtain, source=str(path))
