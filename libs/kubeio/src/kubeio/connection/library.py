"""Credentials and certificates from kubernetes_asyncio, whose traps are guarded here.

| What the library does | What guards it |
|---|---|
| reads files in the event loop, and lets plugins hang or run on | `apart`: a thread, a time limit |
| logs the output of plugins, quotes what a plugin or file holds | its logger is off, `_words` |
| keeps a token until its time has come, though it was refused | a loader made anew, without it |
| does not strip tokens | `_header` |
| takes a plugin that gave nothing for success | `_settings` |
| leaves keys in temporary files until its end | `_cleanup_temp_files`, once they were read |
| does not verify an OIDC provider, or fails if it has a CA | `_Loader` |

What a file holds has been checked before, in `context`.
"""

import copy
import logging
import threading
from pathlib import Path
from typing import Any, Final

import aiohttp
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, _cleanup_temp_files
from kubernetes_asyncio.config.openid import OpenIDRequestor

from kubeio.connection.context import Context
from kubeio.connection.kubeconfig import document
from kubeio.connection.tls import Pem, Tls, client_context
from kubeio.errors import ConfigError
from kubeio.loops import run_apart
from kubeio.types import JsonObject

PLUGIN_SECONDS: Final = 120.0
"""How long a plugin may take: it may wait for its user to log in."""

_LONGEST: Final = 300
_LOADING = threading.Lock()
"""The library keeps one list of temporary files for all loaders."""

# It logs the output of plugins that fail; all that is needed of it is in our errors.
logging.getLogger("kubernetes_asyncio.config.kube_config").disabled = True


class Library:
    """The credential of a context, as kubernetes_asyncio obtains it.

    Attributes:
        settings: What the library made of the context the last time.
    """

    def __init__(
        self, context: Context, tls: Tls | None, *, seconds: float = PLUGIN_SECONDS
    ) -> None:
        """Obtain nothing yet; certificates go to ``tls``, a plugin may take ``seconds``."""
        self.settings = Configuration()
        self._context = context
        self._tls = tls
        self._seconds = seconds
        # Its own copy: the library writes tokens into it.
        self._user = copy.deepcopy(context.user)
        self._loader = self._new_loader()

    async def obtain(self, fresh: bool) -> str | None:
        """Return the Authorization header, and load the certificates.

        ``fresh`` says that what the library kept was refused.

        Raises:
            ConfigError: it cannot be obtained.
        """
        if fresh:
            for kept in ("access-token", "id-token"):
                self._user.get("auth-provider", {}).get("config", {}).pop(kept, None)
            self._loader = self._new_loader()
        try:
            self.settings = await run_apart(self._settings, seconds=self._seconds)
        except TimeoutError:
            problem = f"no credential within {self._seconds:.0f} s; does its plugin hang?"
            raise self._context.problem(problem) from None
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - plugins and the library may raise anything
            # Not chained: the texts of others may quote what was read.
            raise self._context.problem(f"cannot obtain a credential: {_words(error)}") from None
        return self._header()

    async def _settings(self) -> Configuration:
        settings = Configuration()
        if isinstance(self._loader, InClusterConfigLoader):
            self._loader.load_and_set(settings)
            self._load_certificates(settings)
            return settings
        with _LOADING:
            try:
                await self._loader.load_and_set(settings)
                self._load_certificates(settings)
            finally:
                _cleanup_temp_files()
        if "exec" in self._user and not (settings.api_key or settings.cert_file):
            raise ConfigException(
                "exec: the plugin gave neither a token nor a certificate and a key"
            )
        return settings

    def _load_certificates(self, settings: Configuration) -> None:
        if self._tls is not None:
            ca, cert, key = (
                Pem(file=Path(name)) if name else Pem()
                for name in (settings.ssl_ca_cert, settings.cert_file, settings.key_file)
            )
            self._tls.load(ca=ca, cert=cert, key=key)

    def _header(self) -> str | None:
        value = self.settings.api_key.get("BearerToken")
        if value is None:
            return None
        scheme, _, credential = value.strip().partition(" ")
        if not credential:
            raise self._context.problem("the token is empty")
        return f"{scheme} {credential.strip()}"

    def _new_loader(self) -> Any:
        cluster, user = self._context.cluster, self._user
        if self._context.in_pod:
            host, _, port = self._context.server.removeprefix("https://").rpartition(":")
            return InClusterConfigLoader(
                token_filename=user["tokenFile"],
                cert_filename=cluster["certificate-authority"],
                environ={
                    "KUBERNETES_SERVICE_HOST": host.strip("[]"),
                    "KUBERNETES_SERVICE_PORT": port,
                },
            )
        return _Loader(document(self._context.name, cluster=cluster, user=user))


class _Loader(KubeConfigLoader):
    async def _refresh_oidc(self, provider: Any) -> None:
        config: JsonObject = provider["config"].value
        if "refresh-token" not in config:
            raise ConfigException("oidc: the ID token has expired, and there is no refresh-token")
        answer = await _VerifyingRequestor(
            config["client-id"],
            config.get("client-secret", ""),
            config["idp-issuer-url"],
            client_context(ca=Pem.of(config, "idp-certificate-authority")),
        ).refresh_token(config["refresh-token"])
        config["id-token"] = answer["id_token"]
        # Providers need not give another one.
        config["refresh-token"] = answer.get("refresh_token", config["refresh-token"])


class _VerifyingRequestor(OpenIDRequestor):
    def _get_connector(self) -> aiohttp.TCPConnector:
        # The library's own verifies nothing without a CA, and takes the path of one for a context.
        return aiohttp.TCPConnector(ssl=self._ssl_ca_cert or True)


def _words(error: Exception) -> str:
    """Return the text of the library's own errors; those of others may quote a credential."""
    if not isinstance(error, ConfigException | OSError):
        return f"the answer is malformed ({type(error).__name__})"
    text = " ".join(str(error).split())
    text = "".join(each if each.isprintable() else "?" for each in text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
