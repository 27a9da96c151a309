"""The configuration of the services, read by kubernetes_asyncio.

Importing that library costs 0.3 s and 43 MiB, once, in the process of the service; its worker
processes do not import it. The command line uses `config` instead.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kubeio.connection.auth import RenewedAuth
from kubeio.connection.config import ClusterConfig, find_context
from kubeio.connection.context import Context
from kubeio.connection.library import Library

_SERVICE_PLUGIN_SECONDS: Final = 20.0
"""How long a plugin may take; nobody logs in at a service."""


async def service_config(
    kubeconfig: Path | str | None = None,
    *,
    user_agent: str,
    environ: Mapping[str, str] | None = None,
) -> ClusterConfig:
    """Return the configuration of a kubeconfig, or of the pod, with its first credential.

    It is found as by `load_config`.

    Raises:
        ConfigError: no configuration was found, or it cannot be used.
    """
    env = os.environ if environ is None else environ
    return await library_config(find_context(kubeconfig, None, env), env, user_agent=user_agent)


async def library_config(
    context: Context,
    env: Mapping[str, str],
    *,
    user_agent: str,
    clock: Callable[[], float] = time.monotonic,
) -> ClusterConfig:
    """Return the configuration of a context, with its first credential.

    Raises:
        ConfigError: it cannot be used.
    """
    tls = context.tls()
    library = Library(context, tls, seconds=_SERVICE_PLUGIN_SECONDS)
    auth = RenewedAuth(library.obtain, source=context.origin, clock=clock)
    await auth.header()
    settings = library.settings
    return ClusterConfig.of(
        context,
        server=str(settings.host),
        tls=tls,
        auth=auth,
        proxy=context.proxy(settings.proxy, env),
        tls_server_name=settings.tls_server_name,
        user_agent=user_agent,
    )
