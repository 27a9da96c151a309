"""How the values of a kind are merged and owned: which lists have keys, which values are atomic.

The rules are those of structured-merge-diff. A kind made from a CustomResourceDefinition carries
its OpenAPI nodes as well, for defaults, pruning and validation (`structural`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import orjson

from kubeio.types import Json, JsonObject

ListType = Literal["atomic", "set", "map"]


@dataclass(frozen=True, slots=True)
class Schema:
    """A node of a kind's schema.

    Attributes:
        fields: The declared members of an object.
        values: Schema of other members; None if they are of any kind.
        items: Schema of the items of a list.
        list_type: How a list is merged.
        keys: The fields that identify an item of a list of type map, and their defaults.
        atomic: Whether an object has one owner as a whole.
        open: Whether members that are not listed count as declared: the node leaves out what does
            not matter for merging.
        node: OpenAPI node of a CustomResourceDefinition, empty for other kinds.
        free: Whether fields that the node does not list stay.
        defaults: The fields that have a default.
    """

    fields: Mapping[str, "Schema"] = field(default_factory=dict)
    values: "Schema | None" = None
    items: "Schema | None" = None
    list_type: ListType = "atomic"
    keys: Mapping[str, Json] = field(default_factory=dict)
    atomic: bool = False
    open: bool = False
    node: JsonObject = field(default_factory=dict)
    free: bool = True
    defaults: Mapping[str, "Schema"] = field(default_factory=dict)

    def member(self, key: str) -> "Schema":
        found = self.fields.get(key)
        if found is not None:
            return found
        return OPEN if self.open else self.values or ANY

    def declares(self, key: str) -> bool:
        return self.open or key in self.fields

    @property
    def item(self) -> "Schema":
        return self.items or (OPEN if self.open else ANY)

    def identity(self, item: Json) -> str:
        """Return the path element of an item of a list of type set or map."""
        if self.list_type == "set" or not isinstance(item, dict):
            return f"v:{_compact(item)}"
        return f"k:{_compact({key: item.get(key, default) for key, default in self.keys.items()})}"


ANY = Schema()
"""Of a value that no schema describes: objects are merged by member, lists are atomic."""
OPEN = Schema(open=True)


def struct(**fields: Schema) -> Schema:
    """Return a node that names only what matters for merging."""
    return Schema(fields=fields, open=True)


def keyed(items: Schema, **keys: Json) -> Schema:
    """Return a list whose items are identified by keys, given with their defaults."""
    return Schema(items=items, list_type="map", keys=keys)


SET = Schema(list_type="set")
MAP = Schema(values=ANY)
ATOMIC = Schema(atomic=True)


def from_openapi(node: JsonObject) -> Schema:
    """Return the schema for a node of a CustomResourceDefinition."""
    values = node.get("additionalProperties")
    items = node.get("items")
    list_type: ListType = node.get("x-kubernetes-list-type", "atomic")
    properties: JsonObject = node.get("properties") or {}
    fields = {key: from_openapi(below) for key, below in properties.items()}
    return Schema(
        fields=fields,
        values=from_openapi(values) if isinstance(values, dict) else None,
        items=from_openapi(items) if isinstance(items, dict) else None,
        list_type=list_type,
        keys=dict.fromkeys(node.get("x-kubernetes-list-map-keys") or ()),
        atomic=node.get("x-kubernetes-map-type") == "atomic",
        node=node,
        free=bool(not node or node.get("x-kubernetes-preserve-unknown-fields") or values),
        defaults={key: below for key, below in fields.items() if "default" in below.node},
    )


def _compact(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
