"""Credentials: the Authorization header, and its refresh after a 401.

Invariants: no secret appears in a ``repr`` or in an error; calls that were rejected with the same
credential refresh it once, together. Client certificates are part of the TLS context (`tls`), to
which a plugin adds its own.
"""

import asyncio
import base64
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from kubeio.errors import ConfigError

log = logging.getLogger(__name__)

_REREAD_AFTER = 60.0  # the kubelet renews bound tokens long before they expire
_PLUGIN_TIMEOUT = 120.0  # a plugin may wait for its user to log in


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


class TokenFileAuth:
    """A bearer token in a file that is rotated, such as the token of a service account.

    The file is read again every minute and after a 401, in a thread. If a later read fails, the
    last token stays in use: the kubelet may be replacing the projected volume at that moment.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._value: str | None = None
        self._read_at = 0.0

    async def header(self) -> str | None:
        if self._value is None or self._clock() - self._read_at >= _REREAD_AFTER:
            await self._read()
        return self._value

    async def refresh(self, rejected: str | None) -> bool:
        if self._value == rejected:
            await self._read()
        return self._value != rejected

    async def _read(self) -> None:
        # Set before the read, so that concurrent calls go on with the current token.
        self._read_at = self._clock()
        try:
            token = (await asyncio.to_thread(self._path.read_text)).strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._value is None:
                problem = f"cannot read the token file: {error}"
                raise ConfigError(problem, source=self._path) from error
            log.warning("keeping the last token: cannot read %s: %s", self._path, error)
            return
        if token:
            self._value = f"Bearer {token}"
        elif self._value is None:
            raise ConfigError("the token file is empty", source=self._path)

    def __repr__(self) -> str:
        return f"TokenFileAuth({str(self._path)!r})"


class PluginAuth:
    """Credentials from an exec plugin, OIDC or gcloud, obtained through kubernetes_asyncio.

    That library takes a third of a second to import, so it is imported at the first use. The extra
    `plugins` of this package installs it; without it the first use is a ConfigError that says so.
    The library is asked for the token once a minute (it caches a token until shortly before it
    expires), and for a new one after a 401. A client certificate of a plugin is loaded into
    ``context`` and used by connections that are opened later.
    """

    def __init__(
        self,
        paths: str,
        context_name: str,
        context: ssl.SSLContext | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paths = paths
        self._context_name = context_name
        self._context = context
        self._clock = clock
        self._lock = asyncio.Lock()
        self._value: str | None = None
        self._loader: Any = None
        self._asked_at = 0.0

    async def header(self) -> str | None:
        if self._stale():
            async with self._lock:
                if self._stale():
                    await self._ask()
        return self._value

    async def refresh(self, rejected: str | None) -> bool:
        async with self._lock:
            if self._value == rejected:
                self._loader = None
                await self._ask()
        # The same token again may come with a new certificate.
        return self._value != rejected or self._value is None

    def _stale(self) -> bool:
        return self._loader is None or self._clock() - self._asked_at >= _REREAD_AFTER

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(_PLUGIN_TIMEOUT):
                await self._load()
        except TimeoutError as error:
            problem = f"the credential plugin did not answer within {_PLUGIN_TIMEOUT:.0f} s"
            raise self._problem(problem) from error
        except asyncio.CancelledError:
            raise
        except ModuleNotFoundError as error:
            problem = "this kubeconfig obtains its credentials through a plugin"
            raise self._problem(f"{problem}: install kudo-kubeio[plugins]") from error
        except Exception as error:
            # A plugin, an identity provider or the library may raise anything.
            raise self._problem(f"cannot obtain a credential: {error}") from error
        self._asked_at = self._clock()

    async def _load(self) -> None:
        from kubernetes_asyncio import client, config

        settings = client.Configuration()
        if self._loader is None:
            self._loader = await config.load_kube_config(
                config_file=self._paths,
                context=self._context_name,
                client_configuration=settings,
            )
        else:
            await self._loader.load_and_set(settings)
        self._value = settings.api_key.get("BearerToken")
        if self._context is not None and settings.cert_file and settings.key_file:
            self._context.load_cert_chain(settings.cert_file, settings.key_file)

    def _problem(self, text: str) -> ConfigError:
        return ConfigError(text, source=self._paths, field=f"context {self._context_name!r}")

    def __repr__(self) -> str:
        return f"PluginAuth({self._paths!r}, {self._context_name!r})"
