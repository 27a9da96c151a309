"""Configuration of the client: kubeconfig files and in-cluster service accounts.

The first that exists is used: an explicit path, $KUBECONFIG, ``~/.kube/config``, the service
account of the pod. Exec plugins, OIDC and gcloud need kubernetes_asyncio, at the first request;
tokens, token files, client certificates and basic auth do not. Invariant: the ``repr`` of a
configuration shows no secret.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from urllib.parse import urlsplit

from kubeio.connection.auth import Auth, PluginAuth, StaticAuth, TokenFileAuth
from kubeio.connection.kubeconfig import Entry, Kubeconfig, read_kubeconfig
from kubeio.connection.tls import (
    Pem,
    client_context,
    load_client_certificate,
    proxy_from_environment,
)
from kubeio.errors import ConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class ClusterConfig:
    """The address of an API server, and how to authenticate.

    Attributes:
        server: base URL without a trailing slash; may have a path prefix.
        ssl: TLS context, None for plain HTTP.
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
    ssl: SSLContext | None = field(default=None, repr=False)
    auth: Auth = field(default_factory=StaticAuth)
    namespace: str = "default"
    proxy: str | None = field(default=None, repr=False)
    user_agent: str = "kubeio"
    tls_server_name: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    origin: str = ""
    compression: bool = True


def load_config(
    kubeconfig: Path | str | None = None,
    *,
    context: str | None = None,
    user_agent: str = "kubeio",
    environ: Mapping[str, str] | None = None,
) -> ClusterConfig:
    """Find and read the configuration, as kubectl does.

    Args:
        kubeconfig: path of a file, which must exist; takes precedence over the rest.
        context: name of the context to use instead of the current one.
        user_agent: sent with every request.
        environ: the environment, ``os.environ`` if None.

    Raises:
        ConfigError: no configuration was found, or it cannot be used.
    """
    env = os.environ if environ is None else environ
    paths = kubeconfig_paths(kubeconfig, env)
    if paths:
        return _from_kubeconfig(read_kubeconfig(paths), context, user_agent, env)
    if env.get("KUBERNETES_SERVICE_HOST") and context is None:
        return in_cluster_config(environ=env, user_agent=user_agent)
    looked = env.get("KUBECONFIG") or str(_home_config(env))
    problem = f"no kubeconfig: {looked} does not exist; set KUBECONFIG or pass --kubeconfig"
    raise ConfigError(problem)


def context_names(
    kubeconfig: Path | str | None = None, *, environ: Mapping[str, str] | None = None
) -> list[str]:
    """Return the names of the contexts that `load_config` could use, in the order of the files.

    Raises:
        ConfigError: a file cannot be read.
    """
    paths = kubeconfig_paths(kubeconfig, os.environ if environ is None else environ)
    return list(read_kubeconfig(paths).contexts)


def in_cluster_config(
    *,
    directory: Path = SERVICE_ACCOUNT,
    environ: Mapping[str, str] | None = None,
    user_agent: str = "kubeio",
) -> ClusterConfig:
    """Return the configuration of the pod's service account.

    Raises:
        ConfigError: not in a pod, or the token of the service account is not mounted.
    """
    env = os.environ if environ is None else environ
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError("not in a cluster: KUBERNETES_SERVICE_HOST is not set")
    token = directory / "token"
    if not token.is_file():
        problem = "no service account token; is automountServiceAccountToken off?"
        raise ConfigError(problem, source=token)
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    namespace = directory / "namespace"
    ca = directory / "ca.crt"
    with _unusable(ca):
        context = client_context(ca=Pem(file=ca))
    return ClusterConfig(
        server=server,
        ssl=context,
        auth=TokenFileAuth(token),
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        proxy=proxy_from_environment(server, env),
        user_agent=user_agent,
        origin="the service account of the pod",
        compression=False,
    )


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


def _from_kubeconfig(
    config: Kubeconfig, context: str | None, user_agent: str, env: Mapping[str, str]
) -> ClusterConfig:
    name, chosen = config.context(context)
    cluster = config.cluster(chosen)
    user = config.user(chosen) or Entry("users[]", chosen.source, {})
    server = _server(cluster, user)
    tls = _context(cluster, user) if server.startswith("https://") else None
    return ClusterConfig(
        server=server,
        ssl=tls,
        auth=_auth(config, name, user, tls),
        namespace=chosen.text("namespace") or "default",
        proxy=_proxy(cluster, server, env),
        user_agent=user_agent,
        tls_server_name=cluster.text("tls-server-name") or None,
        headers=_impersonation(user),
        origin=f"context {name} of {config.source}",
        compression=not cluster.flag("disable-compression"),
    )


def _server(cluster: Entry, user: Entry) -> str:
    server = cluster.text("server").rstrip("/")
    if not server:
        raise cluster.problem("server", "the server URL is missing")
    if "://" not in server:
        tls_keys = ("certificate-authority", "certificate-authority-data")
        tls = any(map(cluster.text, tls_keys)) or cluster.flag("insecure-skip-tls-verify")
        tls = tls or bool(user.pem("client-certificate"))
        server = f"{'https' if tls else 'http'}://{server}"
    try:
        url = urlsplit(server)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise cluster.problem("server", f"{server!r} is not an http or https URL")
    return server


def _context(cluster: Entry, user: Entry) -> SSLContext:
    insecure = cluster.flag("insecure-skip-tls-verify")
    ca = Pem() if insecure else cluster.pem("certificate-authority")
    with _unusable(cluster.source, f"{cluster.path}.certificate-authority"):
        context = client_context(ca=ca, verify=not insecure)
    cert, key = user.pem("client-certificate"), user.pem("client-key")
    if bool(cert) != bool(key):
        missing = "client-key" if cert else "client-certificate"
        raise user.problem(missing, "set both the client certificate and its key")
    if cert:
        with _unusable(user.source, f"{user.path}.client-certificate"):
            load_client_certificate(context, cert, key)
    return context


@contextlib.contextmanager
def _unusable(source: Path, field: str = "") -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise ConfigError(f"unusable certificate: {error}", source=source, field=field) from error


def _auth(config: Kubeconfig, context: str, user: Entry, tls: SSLContext | None) -> Auth:
    token_file = user.file("tokenFile")
    if token_file:
        return TokenFileAuth(token_file)
    if user.text("token"):
        return StaticAuth.bearer(user.text("token"))
    if user.text("username"):
        return StaticAuth.basic(user.text("username"), user.text("password"))
    if user.body.get("exec") or user.body.get("auth-provider"):
        return PluginAuth(config.source, context, tls)
    return StaticAuth()


def _proxy(cluster: Entry, server: str, env: Mapping[str, str]) -> str | None:
    proxy = cluster.text("proxy-url")
    found = proxy or proxy_from_environment(server, env)
    if found and urlsplit(found).scheme not in ("http", "https"):
        problem = "only http and https proxies are supported"
        if proxy:
            raise cluster.problem("proxy-url", problem)
        raise ConfigError(problem, source="environment", field="HTTPS_PROXY")
    return found


def _impersonation(user: Entry) -> tuple[tuple[str, str], ...]:
    headers = []
    for key, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.text(key):
            headers.append((header, user.text(key)))
    groups = user.body.get("as-groups") or []
    if not isinstance(groups, list):
        raise user.problem("as-groups", "expected a list")
    headers += [("Impersonate-Group", str(group)) for group in groups]
    extra = user.body.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise user.problem("as-user-extra", "expected a mapping")
    for key, values in extra.items():
        headers += [(f"Impersonate-Extra-{key}", str(value)) for value in values]
    return tuple(headers)
