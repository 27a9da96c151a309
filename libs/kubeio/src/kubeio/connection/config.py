"""Configuration of the client: address of the API server, credentials, certificates.

The first that exists is used: an explicit path, $KUBECONFIG, ``~/.kube/config``, the service
account of the pod. Invariant: the ``repr`` of a configuration shows no secret.

Importing kubernetes_asyncio takes 0.3 s and 43 MiB, more than all else that most commands do. So
`load_config`, for the command line, reads tokens, token files, client certificates and basic auth
here; for exec plugins, OIDC and gcloud the library is imported at the first request. Services use
`service.service_config`, which has the library read everything.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING, Self

from kubeio.connection.auth import Auth, Identity, RenewedAuth, StaticAuth, token_file
from kubeio.connection.context import Context
from kubeio.connection.kubeconfig import document, read_kubeconfig
from kubeio.connection.tls import Pem, Tls
from kubeio.errors import ConfigError
from kubeio.types import JsonObject

if TYPE_CHECKING:
    from kubeio.connection.library import Library


@dataclass(frozen=True)
class ClusterConfig:
    """The address of an API server, and how to authenticate.

    Attributes:
        server: base URL without a trailing slash; may have a path prefix.
        tls: TLS context, None for plain HTTP.
        auth: source of the Authorization header.
        namespace: the namespace of the context; calls do not default to it.
        proxy: proxy URL, None for a direct connection.
        user_agent: sent with every request; the audit log shows it.
        tls_server_name: name to verify instead of the host of the URL.
        headers: sent with every request (impersonation, which ``Client.acting`` replaces).
        origin: where it comes from, for messages: context and kubeconfig, or the pod.
        compression: accept gzip; off inside the cluster, where CPU costs more than bandwidth.
    """

    server: str
    tls: Tls | None = field(default=None, repr=False)
    auth: Auth = field(default_factory=StaticAuth)
    namespace: str = "default"
    proxy: str | None = field(default=None, repr=False)
    user_agent: str = "kubeio"
    tls_server_name: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    origin: str = ""
    compression: bool = True

    @classmethod
    def of(
        cls,
        context: Context,
        *,
        server: str,
        tls: Tls | None,
        auth: Auth,
        proxy: str | None,
        tls_server_name: str | None,
        user_agent: str,
    ) -> Self:
        """Return the configuration of a context, and of what a reader has made of it."""
        return cls(
            server=server,
            tls=tls,
            auth=auth,
            namespace=context.namespace,
            proxy=proxy,
            user_agent=user_agent,
            tls_server_name=tls_server_name or None,
            headers=context.headers,
            origin=context.origin,
            compression=context.compression,
        )

    @property
    def ssl(self) -> SSLContext | None:
        """Return the TLS context for a connection that is made now."""
        return self.tls.context if self.tls is not None else None


def load_config(
    kubeconfig: Path | str | None = None,
    *,
    context: str | None = None,
    user_agent: str = "kubeio",
    environ: Mapping[str, str] | None = None,
) -> ClusterConfig:
    """Find and read the configuration, as kubectl does.

    An explicit ``kubeconfig`` must exist and takes precedence over the rest.

    Raises:
        ConfigError: no configuration was found, or it cannot be used.
    """
    env = os.environ if environ is None else environ
    return plain_config(find_context(kubeconfig, context, env), env, user_agent=user_agent)


def plain_config(context: Context, env: Mapping[str, str], *, user_agent: str) -> ClusterConfig:
    """Return the configuration of a context; a plugin is started at the first request.

    Raises:
        ConfigError: it cannot be used.
    """
    tls = context.tls()
    if tls is not None:
        tls.load(
            ca=Pem.of(context.cluster, "certificate-authority"),
            cert=Pem.of(context.user, "client-certificate"),
            key=Pem.of(context.user, "client-key"),
        )
    return ClusterConfig.of(
        context,
        server=context.server,
        tls=tls,
        auth=_auth(context, tls),
        proxy=context.proxy(context.cluster.get("proxy-url"), env),
        tls_server_name=context.cluster.get("tls-server-name"),
        user_agent=user_agent,
    )


def find_context(
    kubeconfig: Path | str | None, name: str | None, env: Mapping[str, str]
) -> Context:
    """Return the context to use, or that of the pod's service account.

    Raises:
        ConfigError: there is none, or it cannot be used.
    """
    paths = kubeconfig_paths(kubeconfig, env)
    if paths:
        return Context.of(read_kubeconfig(paths), name)
    if env.get("KUBERNETES_SERVICE_HOST") and name is None:
        return Context.of_pod(env)
    looked = env.get("KUBECONFIG") or str(_home_config(env))
    problem = f"no kubeconfig: {looked} does not exist; set KUBECONFIG or pass --kubeconfig"
    raise ConfigError(problem)


def context_names(kubeconfig: Path | str | None = None) -> list[str]:
    """Return the names of the contexts that `load_config` could use, in the order of the files.

    Raises:
        ConfigError: a file cannot be read.
    """
    return list(read_kubeconfig(kubeconfig_paths(kubeconfig, os.environ)).contexts)


def kubeconfig_paths(explicit: Path | str | None, env: Mapping[str, str]) -> list[Path]:
    """Return the kubeconfig files that exist, as kubectl finds them.

    Raises:
        ConfigError: the explicit one does not exist.
    """
    if explicit is not None:
        path = Path(explicit).expanduser()
        if not path.is_file():
            raise ConfigError("no such file", source=path)
        return [path]
    if env.get("KUBECONFIG"):
        named = [Path(p).expanduser() for p in env["KUBECONFIG"].split(os.pathsep) if p]
    else:
        named = [_home_config(env)]
    return [path for path in dict.fromkeys(named) if path.is_file()]


def _home_config(env: Mapping[str, str]) -> Path:
    home = env.get("HOME")
    return (Path(home) if home else Path.home()) / ".kube" / "config"


def _auth(context: Context, tls: Tls | None) -> Auth:
    match context.user:
        case {"tokenFile": path}:
            return token_file(Path(path))
        case {"token": token}:
            return StaticAuth.bearer(token)
        case {"username": username, "password": password}:
            return StaticAuth.basic(username, password)
        case {"exec": _} | {"auth-provider": _}:
            return _plugin(context, tls)
        case _:
            return StaticAuth()


def _plugin(context: Context, tls: Tls | None) -> RenewedAuth:
    source: Library | None = None

    async def obtain(fresh: bool) -> str | None:
        nonlocal source
        if source is None:
            from kubeio.connection.library import Library

            source = Library(context, tls)
        return await source.obtain(fresh)

    return RenewedAuth(obtain, source=context.origin)


def minified_kubeconfig(
    kubeconfig: Path | str | None = None,
    *,
    context: str | None = None,
    identity: Identity | None = None,
    environ: Mapping[str, str] | None = None,
) -> JsonObject:
    """Return the kubeconfig of the connection that `load_config` would make.

    It is that of `kubectl config view --minify --raw`, with absolute paths, so that a program can
    use it in any folder, and impersonates `identity`. It contains secrets.

    Raises:
        ConfigError: no configuration was found, or it cannot be used.
    """
    env = os.environ if environ is None else environ
    paths = kubeconfig_paths(kubeconfig, env)
    if not paths:
        pod = find_context(kubeconfig, context, env)
        return document(
            pod.name,
            cluster=pod.cluster,
            user=_acting(pod.user, identity),
            context={"namespace": pod.namespace},
        )
    config = read_kubeconfig(paths)
    name, chosen = config.context(context)
    user = config.user(chosen)
    return document(
        name,
        cluster=config.cluster(chosen).body,
        user=_acting(user.body if user else {}, identity),
        context=chosen.body,
    )


def _acting(user: JsonObject, identity: Identity | None) -> JsonObject:
    if identity is None:
        return user
    others = {key: value for key, value in user.items() if not key.startswith("as")}
    return {**others, "as": identity.user, "as-groups": list(identity.groups)}
