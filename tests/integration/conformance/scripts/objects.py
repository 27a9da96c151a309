"""Kinds and objects of the scripts, and their registration."""

from collections.abc import Awaitable, Callable
from typing import Any

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.integration.conformance.recording import Recorder

WIDGETS = Resource("conformance.example.com", "v1", "Widget", "widgets", namespaced=True)
UNKNOWN = Resource("conformance.example.com", "v1", "Gadget", "gadgets", namespaced=True)

ANOTHER_UID = "00000000-0000-0000-0000-000000000000"
HOLD = "conformance.example.com/hold"
Script = Callable[[Recorder], Awaitable[None]]


class Scripts(dict[str, Script]):
    """The scripts of a subject, by the names of their functions."""

    def add(self, script: Script) -> Script:
        self[script.__name__] = script
        return script


def config_map(api: Recorder, name: str = "a", **data: str) -> JsonObject:
    metadata = {"name": name, "namespace": api.namespace}
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return found | ({"data": data} if data else {})


def widget(api: Recorder, name: str = "w", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "conformance.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": api.namespace},
        "spec": {"size": 1, **spec},
    }


def with_metadata(obj: JsonObject, **metadata: Any) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], **metadata}}


def owner_of(obj: JsonObject, **more: Any) -> JsonObject:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        **more,
    }


def version_of(obj: JsonObject) -> str:
    return str(obj["metadata"]["resourceVersion"])
