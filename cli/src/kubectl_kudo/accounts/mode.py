"""The mode of tenancy of an installed reconciler, by its Deployment."""

from typing import Any, Final

_FLAG: Final = "--tenancy="
_MODES: Final = frozenset({"strict", "compat"})


def mode_of(deployment: dict[str, Any]) -> str:
    """Return the mode of a reconciler; empty if its release knows none."""
    pod: Any = deployment
    for name in ("spec", "template", "spec"):
        pod = pod.get(name) or {}
    arguments = [str(text) for one in pod.get("containers") or [] for text in one.get("args") or []]
    modes = [text.removeprefix(_FLAG) for text in arguments if text.startswith(_FLAG)]
    return modes[-1] if modes and modes[-1] in _MODES else ""
