"""The JSON Patch (RFC 6902) of a mutated Instance."""

from collections.abc import Mapping

from kudo.api import JsonObject
from kudo.api.names import FINALIZER_CLEANUP


class InstancePatch:
    """Collects JSON Patch operations against the submitted object."""

    def __init__(self, submitted: JsonObject) -> None:
        self._metadata: JsonObject = submitted.get("metadata") or {}
        self._operations: list[JsonObject] = []
        spec = submitted.get("spec")
        self._spec: JsonObject = spec or {}
        if spec is None:
            self._set("/spec", {})

    def plan_execution(self, value: JsonObject) -> None:
        if (self._spec.get("planExecution") or {}) != value:
            self._set("/spec/planExecution", value)

    def parameters(self, value: Mapping[str, str], submitted: Mapping[str, str]) -> None:
        if dict(value) != dict(submitted):
            self._set("/spec/parameters", dict(value))

    def finalizer(self, *, needed: bool) -> None:
        present = list(self._metadata.get("finalizers") or [])
        if needed and FINALIZER_CLEANUP not in present:
            self._set("/metadata/finalizers", [*present, FINALIZER_CLEANUP])
        elif not needed and FINALIZER_CLEANUP in present:
            rest = [name for name in present if name != FINALIZER_CLEANUP]
            self._set("/metadata/finalizers", rest)

    def operations(self) -> tuple[JsonObject, ...]:
        return tuple(self._operations)

    def _set(self, path: str, value: object) -> None:
        # "add" replaces a member that exists, so that one operation serves both cases.
        self._operations.append({"op": "add", "path": path, "value": value})
