"""Kubeconfigs, usable and broken, and the two ways to read them."""

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kubeio.connection.config import ClusterConfig, load_config
from kubeio.connection.service import service_config
from kubeio.types import JsonObject


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def kubeconfig(
    *, cluster: JsonObject | None = None, user: JsonObject | None = None, **context: str
) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://k8s.example:6443"}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", **context}}],
    }


async def _light(path: Path | None, environ: dict[str, str]) -> ClusterConfig:
    return load_config(path, environ=environ)


async def _library(path: Path | None, environ: dict[str, str]) -> ClusterConfig:
    return await service_config(path, user_agent="kubeio", environ=environ)


READERS: dict[str, Callable[[Path | None, dict[str, str]], Awaitable[ClusterConfig]]] = {
    "light": _light,
    "library": _library,
}


class Bad:
    """Kubeconfigs that cannot be used, and what is said about them."""

    def __init__(self, content: Any, field: str, *words: str) -> None:
        self.content, self.field, self.words = content, field, words


def without(key: str) -> JsonObject:
    return {name: value for name, value in kubeconfig().items() if name != key}


BAD = {
    "no yaml": Bad("users: [{token: s3cret", "", "not valid YAML at line"),
    "no mapping": Bad("[]", "", "not a kubeconfig"),
    "other kind": Bad({"kind": "Pod"}, "", "not a kubeconfig"),
    "binary": Bad("\x00s3cret", "", "not valid YAML"),
    "no context": Bad(without("current-context"), "current-context", "choose one of: main"),
    "unknown context": Bad(
        kubeconfig() | {"current-context": "x"}, "current-context", "'x'", "choose one of: main"
    ),
    "no contexts": Bad(without("contexts"), "current-context", "choose one of: none"),
    "unknown cluster": Bad(without("clusters"), "contexts[main].context.cluster", "'c'"),
    "unknown user": Bad(without("users"), "contexts[main].context.user", "'u'"),
    "no cluster": Bad(
        kubeconfig() | {"contexts": [{"name": "main", "context": None}]},
        "contexts[main].context.cluster",
        "the context has no cluster",
    ),
    "no server": Bad(
        kubeconfig(cluster={"proxy-url": "x"}),
        "clusters[c].cluster.server",
        "the server URL is missing",
    ),
    "odd server": Bad(
        kubeconfig(cluster={"server": "ftp://x"}), "clusters[c].cluster.server", "ftp://x"
    ),
    "odd port": Bad(
        kubeconfig(cluster={"server": "https://x:y"}), "clusters[c].cluster.server", "https://x:y"
    ),
    "a list is no text": Bad(
        kubeconfig(cluster={"server": ["x"]}), "clusters[c].cluster.server", "expected text"
    ),
    "a text is no flag": Bad(
        kubeconfig(cluster={"server": "https://x", "insecure-skip-tls-verify": "yes"}),
        "clusters[c].cluster.insecure-skip-tls-verify",
        "true or false",
    ),
    "a section is a list": Bad(kubeconfig() | {"users": {"u": 1}}, "users", "a list"),
    "an entry has a name": Bad(kubeconfig() | {"users": [{}]}, "users[0]", "a name"),
    "a user is a mapping": Bad(
        kubeconfig() | {"users": [{"name": "u", "user": 3}]}, "users[u].user", "a mapping"
    ),
    "ca no base64": Bad(
        kubeconfig(cluster={"server": "https://x", "certificate-authority-data": "s3cret!"}),
        "clusters[c].cluster.certificate-authority-data",
        "base64 -w0",
    ),
    "ca no pem": Bad(
        kubeconfig(cluster={"server": "https://x", "certificate-authority-data": b64(b"x")}),
        "clusters[c].cluster.certificate-authority",
        "unusable certificate",
    ),
    "ca missing": Bad(
        kubeconfig(cluster={"server": "https://x", "certificate-authority": "ca.crt"}),
        "clusters[c].cluster.certificate-authority",
        "no such file",
        "ca.crt",
    ),
    "key without certificate": Bad(
        kubeconfig(user={"client-key-data": b64(b"x")}),
        "users[u].user.client-certificate",
        "set both the client certificate and its key",
    ),
    "certificate without key": Bad(
        kubeconfig(user={"client-certificate-data": b64(b"x")}),
        "users[u].user.client-key",
        "set both the client certificate and its key",
    ),
    "certificate no pem": Bad(
        kubeconfig(
            user={"client-certificate-data": b64(b"s3cret"), "client-key-data": b64(b"s3cret")}
        ),
        "users[u].user.client-certificate",
        "unusable certificate",
    ),
    "token file missing": Bad(
        kubeconfig(user={"tokenFile": "t"}), "users[u].user.tokenFile", "no such file"
    ),
    "odd proxy": Bad(
        kubeconfig(cluster={"server": "https://x", "proxy-url": "socks5://p"}),
        "clusters[c].cluster.proxy-url",
        "only http",
    ),
    "token of two lines": Bad(
        kubeconfig(user={"token": "s3cret\nx"}), "users[u].user.token", "line break"
    ),
    "no mapping as a plugin": Bad(
        kubeconfig(user={"exec": ["s3cret"]}), "users[u].user.exec", "a mapping"
    ),
    "a plugin without a version": Bad(
        kubeconfig(user={"exec": {"command": "x"}}), "users[u].user.exec.apiVersion", "missing"
    ),
    "a plugin without a command": Bad(
        kubeconfig(user={"exec": {"apiVersion": "v1"}}), "users[u].user.exec.command", "missing"
    ),
    "a plugin with odd arguments": Bad(
        kubeconfig(user={"exec": {"apiVersion": "v1", "command": "x", "args": "s3cret"}}),
        "users[u].user.exec.args",
        "a list of texts",
    ),
    "a plugin with an odd environment": Bad(
        kubeconfig(user={"exec": {"apiVersion": "v1", "command": "x", "env": [{"a": "s3cret"}]}}),
        "users[u].user.exec.env",
        "names and values",
    ),
    "a provider that nobody knows": Bad(
        kubeconfig(user={"auth-provider": {"name": "azure", "config": {"access-token": "s3cret"}}}),
        "users[u].user.auth-provider.name",
        "only gcp and oidc",
    ),
    "a provider without an issuer": Bad(
        kubeconfig(
            user={
                "auth-provider": {
                    "name": "oidc",
                    "config": {"client-id": "x", "id-token": "s3cret"},
                }
            }
        ),
        "users[u].user.auth-provider.config.idp-issuer-url",
        "missing",
    ),
    "groups are a list": Bad(
        kubeconfig(user={"as-groups": "x"}), "users[u].user.as-groups", "a list"
    ),
    "extras are lists": Bad(
        kubeconfig(user={"as-user-extra": {"x": "y"}}), "users[u].user.as-user-extra", "lists"
    ),
    "extra is a mapping": Bad(
        kubeconfig(user={"as-user-extra": "x"}), "users[u].user.as-user-extra", "a mapping"
    ),
}
