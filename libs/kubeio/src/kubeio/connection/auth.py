"""Who we are to the API server: the Authorization header, and how to get a fresh one.

Invariants: no secret appears in a ``repr`` or in an error; a credential that the server refused
is replaced at most once for however many calls were refused with it. Client certificates are
no concern of this module, they live in the TLS context (only plugins put theirs there late).
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

_REREAD_AFTER = 60.0  # the kubelet renews bound tokens long before they end
_PLUGIN_TIMEOUT = 120.0  # a plugin may have to ask its user


class Auth(Protocol):
    """Supplies the Authorization header of each request."""

    async def header(self) -> str | None:
        """Return the header's value, None for none (client certificates, anonymous).

        Raises:
            ConfigError: the credential cannot be obtained.
        """

    async def refresh(self, rejected: str | None) -> bool:
        """Look for a better credential than the one that was answered with 401.

        Returns:
            True if ``header`` now gives something else, so that one retry makes sense.
        """


class StaticAuth:
    """A header that never changes; without one, only a client certificate or nobody."""

    def __init__(self, value: str | None = None) -> None:
        self._value = value

    @classmethod
    def bearer(cls, token: str) -> "StaticAuth":
        """Return the auth of a fixed bearer token."""
        return cls(f"Bearer {token.strip()}")

    @classmethod
    def basic(cls, username: str, password: str) -> "StaticAuth":
        """Return the auth of a user name and a password."""
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
    """A bearer token kept in a file that somebody rotates, such as a service account's.

    The file is read again every minute and after a 401, in a thread. A read that fails later
    on keeps the last token: the projected volume is swapped while we look.
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
        # Noted first, so that the other calls of this moment go on with the token they have.
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

    That library takes a third of a second to import, so it is imported with the first use. It comes
    with the extra `plugins` of this package; without it, asking is a ConfigError that says so.
    Tokens are asked for once a minute (the library keeps them until shortly before they
    expire) and obtained anew after a 401. A plugin that answers with a client certificate has
    it loaded into ``context``, which counts for connections made from then on.
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
            # Whatever a plugin, an identity provider or the library does wrong ends here.
            raise self._problem(f"no credential: {error}") from error
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
