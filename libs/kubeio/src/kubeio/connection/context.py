"""One context of a kubeconfig: checked, without what is not used, with absolute paths.

Both readers start from it, the light one in `config` and kubernetes_asyncio's in `service`, so that
they refuse the same files with the same errors and prefer the same credential.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from kubeio.connection.kubeconfig import Entry, Kubeconfig
from kubeio.connection.tls import Tls, proxy_from_environment
from kubeio.errors import ConfigError
from kubeio.types import Headers, Json, JsonObject

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_PROVIDERS: Final = {"gcp": ("cmd-path", "cmd-args"), "oidc": ("client-id", "idp-issuer-url")}
"""Those that kubernetes_asyncio knows, and what it needs of their configuration."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a connection needs to know. Contains secrets.

    Attributes:
        origin: Where it comes from, for messages.
        cluster: Fields of a cluster as in a kubeconfig; the server has a scheme, and no slash at
            its end.
        user: Fields of a user as in a kubeconfig: the client certificate, and the one credential
            that is used.
        entries: What cluster and user were made of, for messages.
        headers: Impersonation.
        in_pod: Whether it is the service account of the pod.
    """

    name: str
    origin: str
    namespace: str
    cluster: JsonObject = field(repr=False)
    user: JsonObject = field(repr=False)
    entries: tuple[Entry, Entry] = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    compression: bool = True
    in_pod: bool = False

    @classmethod
    def of(cls, config: Kubeconfig, name: str | None) -> Self:
        """Return a context of a kubeconfig, by default the current one.

        Raises:
            ConfigError: it does not exist, or cannot be used.
        """
        chosen, context = config.context(name)
        cluster = config.cluster(context)
        user = config.user(context) or Entry("users[]", context.source, {})
        server = _server(cluster, user)
        encrypted = server.startswith("https://")
        return cls(
            name=chosen,
            origin=f"context {chosen} of {config.source}",
            namespace=context.text("namespace") or "default",
            cluster={"server": server, **_cluster(cluster, encrypted=encrypted)},
            user={**(_certificate(user) if encrypted else {}), **_credential(user)},
            entries=(cluster, user),
            headers=_impersonation(user),
            compression=not cluster.flag("disable-compression"),
        )

    @classmethod
    def of_pod(cls, env: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Self:
        """Return that of the pod's service account.

        Raises:
            ConfigError: not in a pod, or its service account is not mounted.
        """
        host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
        if not host:
            raise ConfigError("not in a cluster: KUBERNETES_SERVICE_HOST is not set")
        token, ca, namespace = (directory / name for name in ("token", "ca.crt", "namespace"))
        if not token.is_file():
            problem = "no service account token; is automountServiceAccountToken off?"
            raise ConfigError(problem, source=token)
        if not ca.is_file():
            raise ConfigError("no CA of the cluster beside the token", source=ca)
        server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        return cls(
            name="pod",
            origin="the service account of the pod",
            namespace=namespace.read_text().strip() if namespace.is_file() else "default",
            cluster={"server": server, "certificate-authority": str(ca)},
            user={"tokenFile": str(token)},
            entries=(Entry("", ca, {}), Entry("", token, {})),
            # CPU costs more than bandwidth inside the cluster.
            compression=False,
            in_pod=True,
        )

    @property
    def server(self) -> str:
        return str(self.cluster["server"])

    def tls(self) -> Tls | None:
        """Return a TLS context without CA and client certificate, None for plain HTTP."""
        if not self.server.startswith("https://"):
            return None
        cluster, user = self.entries
        return Tls(
            verify=not self.cluster.get("insecure-skip-tls-verify"),
            bad_ca=partial(cluster.problem, "certificate-authority"),
            bad_certificate=partial(user.problem, "client-certificate"),
        )

    def problem(self, text: str) -> ConfigError:
        """Return the error that names the field of the credential."""
        return self.entries[1].problem(next(reversed(self.user), "token"), text)

    def proxy(self, chosen: str | None, env: Mapping[str, str]) -> str | None:
        """Return the proxy that the cluster has chosen, or else that of the environment.

        Raises:
            ConfigError: it is none of HTTP.
        """
        proxy = chosen or proxy_from_environment(self.server, env)
        if proxy and urlsplit(proxy).scheme not in ("http", "https"):
            problem = "only http and https proxies are supported"
            if chosen:
                raise self.entries[0].problem("proxy-url", problem)
            raise ConfigError(problem, source="environment", field="HTTPS_PROXY")
        return proxy


def _server(cluster: Entry, user: Entry) -> str:
    server = cluster.text("server").rstrip("/")
    if not server:
        raise cluster.problem("server", "the server URL is missing")
    if "://" not in server:
        certificates = cluster.pem("certificate-authority") or user.pem("client-certificate")
        tls = certificates or cluster.flag("insecure-skip-tls-verify")
        server = f"{'https' if tls else 'http'}://{server}"
    try:
        url = urlsplit(server)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise cluster.problem("server", f"{server!r} is not an http or https URL")
    return server


def _cluster(cluster: Entry, *, encrypted: bool) -> JsonObject:
    texts = {key: cluster.text(key) for key in ("tls-server-name", "proxy-url")}
    kept: JsonObject = {key: text for key, text in texts.items() if text}
    if encrypted and cluster.flag("insecure-skip-tls-verify"):
        kept["insecure-skip-tls-verify"] = True
    elif encrypted:
        kept |= cluster.pem("certificate-authority")
    return kept


def _certificate(user: Entry) -> JsonObject:
    cert, key = user.pem("client-certificate"), user.pem("client-key")
    if bool(cert) != bool(key):
        missing = "client-key" if cert else "client-certificate"
        raise user.problem(missing, "set both the client certificate and its key")
    return {**cert, **key}


def _credential(user: Entry) -> JsonObject:
    """Return the credential that kubectl would use, alone."""
    token_file = user.file("tokenFile")
    if token_file:
        return token_file
    token = user.text("token").strip()
    if token:
        if not (token.isascii() and token.isprintable()):
            raise user.problem("token", "it holds a line break or characters beyond ASCII")
        return {"token": token}
    if user.text("username"):
        return {"username": user.text("username"), "password": user.text("password")}
    if user.body.get("exec"):
        return {"exec": _plugin(user)}
    if user.body.get("auth-provider"):
        return {"auth-provider": _provider(user)}
    return {}


def _plugin(user: Entry) -> JsonObject:
    plugin = _mapping(user, "exec", user.body["exec"])
    for key in ("apiVersion", "command"):
        if not plugin.get(key) or not isinstance(plugin[key], str):
            raise user.problem(f"exec.{key}", "it is missing, or no text")
    for key, kind in (("args", str), ("env", dict)):
        values = plugin.get(key) or []
        if not isinstance(values, list) or not all(isinstance(each, kind) for each in values):
            what = "texts" if kind is str else "names and values"
            raise user.problem(f"exec.{key}", f"expected a list of {what}")
    for each in plugin.get("env") or []:
        if not isinstance(each.get("name"), str) or not isinstance(each.get("value"), str):
            raise user.problem("exec.env", "expected a list of names and values")
    return plugin


def _provider(user: Entry) -> JsonObject:
    provider = _mapping(user, "auth-provider", user.body["auth-provider"])
    needed = _PROVIDERS.get(str(provider.get("name")))
    if needed is None:
        problem = "only gcp and oidc are supported; use a plugin (exec) of your provider"
        raise user.problem("auth-provider.name", problem)
    config = _mapping(user, "auth-provider.config", provider.get("config") or {})
    for key in needed:
        if not isinstance(config.get(key), str):
            raise user.problem(f"auth-provider.config.{key}", "it is missing, or no text")
    return provider


def _mapping(user: Entry, key: str, value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise user.problem(key, "expected a mapping")
    return value


def _impersonation(user: Entry) -> Headers:
    headers = []
    for key, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.text(key):
            headers.append((header, user.text(key)))
    groups = user.body.get("as-groups") or []
    if not isinstance(groups, list):
        raise user.problem("as-groups", "expected a list")
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for key, values in _mapping(
        user, "as-user-extra", user.body.get("as-user-extra") or {}
    ).items():
        if not isinstance(values, list):
            raise user.problem("as-user-extra", "expected lists of values")
        headers += [(f"Impersonate-Extra-{key}", str(value)) for value in values]
    return tuple(headers)
