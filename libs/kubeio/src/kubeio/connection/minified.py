"""A kubeconfig of one context alone, for programs that are started with it.

It is that of `kubectl config view --minify --raw`, with absolute paths, so that it works from any
folder. It contains secrets.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kubeio.connection.config import SERVICE_ACCOUNT, kubeconfig_paths, load_config
from kubeio.connection.identity import Identity
from kubeio.connection.kubeconfig import Entry, read_kubeconfig
from kubeio.types import JsonObject

_FILES: Final = {
    "certificate-authority",
    "client-certificate",
    "client-key",
    "tokenFile",
}
_POD: Final = "pod"


def minified_kubeconfig(
    kubeconfig: Path | str | None = None,
    *,
    context: str | None = None,
    identity: Identity | None = None,
    environ: Mapping[str, str] | None = None,
) -> JsonObject:
    """Return the kubeconfig of the connection that `load_config` would make.

    Args:
        kubeconfig: Path of a file, which must exist; takes precedence over the environment.
        context: Name of the context to use instead of the current one.
        identity: Whom to impersonate.
        environ: The environment, `os.environ` if None.

    Raises:
        ConfigError: No configuration was found, or it cannot be used.
    """
    env = os.environ if environ is None else environ
    paths = kubeconfig_paths(kubeconfig, env)
    if not paths:
        server = load_config(kubeconfig, context=context, environ=env).server
        return _of_the_pod(server, identity)
    config = read_kubeconfig(paths)
    name, chosen = config.context(context)
    user = config.user(chosen)
    body = {**chosen.body, "cluster": name, "user": name}
    return _kubeconfig(
        name,
        context=body,
        cluster=_absolute(config.cluster(chosen)),
        user=_acting(_absolute(user) if user else {}, identity),
    )


def _of_the_pod(server: str, identity: Identity | None) -> JsonObject:
    namespace = SERVICE_ACCOUNT / "namespace"
    context = {"cluster": _POD, "user": _POD}
    if namespace.is_file():
        context["namespace"] = namespace.read_text().strip()
    return _kubeconfig(
        _POD,
        context=context,
        cluster={"server": server, "certificate-authority": str(SERVICE_ACCOUNT / "ca.crt")},
        user=_acting({"tokenFile": str(SERVICE_ACCOUNT / "token")}, identity),
    )


def _kubeconfig(
    name: str, *, context: Mapping[str, Any], cluster: JsonObject, user: JsonObject
) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": dict(context)}],
        "users": [{"name": name, "user": user}],
    }


def _absolute(entry: Entry) -> JsonObject:
    """Return the entry with paths that are relative to its file made absolute."""
    folder = entry.source.absolute().parent
    found = {
        key: str(folder / Path(value).expanduser()) if key in _FILES and value else value
        for key, value in entry.body.items()
    }
    plugin = found.get("exec")
    if isinstance(plugin, dict):
        command = str(plugin.get("command") or "")
        # A bare name is looked up in the PATH.
        if os.sep in command:
            found["exec"] = {**plugin, "command": str(folder / command)}
    return found


def _acting(user: JsonObject, identity: Identity | None) -> JsonObject:
    if identity is None:
        return user
    others = {key: value for key, value in user.items() if not key.startswith("as")}
    return {**others, "as": identity.user, "as-groups": list(identity.groups)}
