"""The mode of tenancy of an installed reconciler, by its Deployment."""

from typing import Final

from kubectl_kudo.session.output import JsonObject

_FLAG: Final = "--tenancy="
_MODES: Final = frozenset({"strict", "compat"})


def pod_spec(deployment: JsonObject) -> JsonObject:
    """Return the spec of the pods of a Deployment."""
    for name in ("spec", "template", "spec"):
        deployment = deployment.get(name) or {}
    return deployment


def mode_of(deployment: JsonObject) -> str:
    """Return the mode of a reconciler; empty if its release knows none."""
    pod = pod_spec(deployment)
    arguments = [str(text) for one in pod.get("containers") or [] for text in one.get("args") or []]
    modes = [text.removeprefix(_FLAG) for text in arguments if text.startswith(_FLAG)]
    return modes[-1] if modes and modes[-1] in _MODES else ""
