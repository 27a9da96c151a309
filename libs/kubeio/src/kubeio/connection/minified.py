"""A kubeconfig of one context alone, for programs that are started with it.

It is that of `kubectl config view --minify --raw`, with absolute paths, so that it works from any
folder. It contains secrets.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from kubeio.connection.config import find_context, kubeconfig_paths
from kubeio.connection.identity import Identity
from kubeio.connection.kubeconfig import document, read_kubeconfig
from kubeio.types import JsonObject


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
