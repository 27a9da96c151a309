"""CustomResourceDefinitions: schema, subresources and columns belong to each version in v1.

Without `preserveUnknownFields: false` nothing was pruned in v1beta1, whatever the schema said. It
stays so: the schema is made structural and open. A v1beta1 schema that did not prune could leave
types out, and restrict types inside anyOf and the like. Made structural it accepts at least what it
accepted:

* every object says `x-kubernetes-preserve-unknown-fields`, since pruning would otherwise begin
  again below each object that lists its properties
* what has no type gets one where its other fields imply it, and is left open elsewhere
* anyOf, allOf, oneOf and not stay where they are structural, and go where they are not
"""

from typing import Final

from kudo.api import Json, JsonObject
from kudo.objects.removed_apis.conversions import (
    child,
    copied,
    mapping_at,
    mappings_at,
    rename,
    set_default,
)

_OF_ALL_VERSIONS: Final = {
    "validation": "schema",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
}
"""Fields for all versions at once, and their names in a version."""
_APPROVAL: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = (".k8s.io", ".kubernetes.io")


def upgrade_definition(definition: JsonObject) -> None:
    spec = mapping_at(definition, "spec")
    if spec is None:
        return
    set_default(spec, "scope", "Namespaced")
    name = spec.pop("version", None)
    if name is not None and not spec.get("versions"):
        spec["versions"] = [{"name": name, "served": True, "storage": True}]
    for old, new in _OF_ALL_VERSIONS.items():
        value = spec.pop(old, None)
        if value is not None:
            for version in mappings_at(spec, "versions"):
                set_default(version, new, copied(value))
    pruned = spec.get("preserveUnknownFields")
    for version in mappings_at(spec, "versions"):
        validation = child(version, "schema")
        if validation is not None:
            schema = validation.get("openAPIV3Schema")
            if schema is None:
                validation["openAPIV3Schema"] = open_schema()
            elif pruned is not False and isinstance(schema, dict):
                validation["openAPIV3Schema"] = structural(schema)
        for column in mappings_at(version, "additionalPrinterColumns"):
            rename(column, "JSONPath", "jsonPath")
    if pruned is None or pruned is True:
        # v1 refuses true. The schemas, which are open now, say it instead.
        spec["preserveUnknownFields"] = False
    conversion = mapping_at(spec, "conversion")
    if conversion is not None:
        _upgrade_conversion(conversion)
    _note_approval(definition, spec.get("group"))


def _note_approval(definition: JsonObject, group: Json) -> None:
    metadata = mapping_at(definition, "metadata")
    if isinstance(group, str) and f".{group}".endswith(_PROTECTED) and metadata is not None:
        # v1 wants this annotation of groups that look like those of Kubernetes.
        annotations = child(metadata, "annotations")
        if annotations is not None:
            set_default(annotations, _APPROVAL, "unapproved, defined before approval was asked for")


def _upgrade_conversion(conversion: JsonObject) -> None:
    client = conversion.pop("webhookClientConfig", None)
    versions = conversion.pop("conversionReviewVersions", None)
    if conversion.get("strategy") == "Webhook" or client is not None or versions is not None:
        webhook: JsonObject = {"conversionReviewVersions": versions or ["v1beta1"]}
        if client is not None:
            webhook["clientConfig"] = client
        set_default(conversion, "webhook", webhook)


_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_IMPLIED: Final = {
    "properties": "object",
    "additionalProperties": "object",
    "required": "object",
    "items": "array",
}
_LOGIC: Final = ("allOf", "anyOf", "oneOf")
_COSMETIC: Final = ("title", "description")
_ONLY_OUTSIDE: Final = (
    "type",
    "additionalProperties",
    "default",
    "nullable",
    _PRESERVE,
    _INT_OR_STRING,
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
)
"""What a structural schema must not say inside anyOf and the like."""
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]
_NOT_AT_THE_ROOT: Final = ("additionalProperties", "nullable")


def open_schema() -> JsonObject:
    """Return the schema of objects of which nothing is known."""
    return {"type": "object", _PRESERVE: True}


def structural(schema: JsonObject) -> JsonObject:
    """Return the schema of a custom resource that accepts, keeps and checks what `schema` did.

    It checks less only where `schema` restricts what a structural one cannot restrict.
    """
    closed = {key: value for key, value in schema.items() if key not in _NOT_AT_THE_ROOT}
    root: JsonObject = {**_node({**closed, "type": "object"}), _PRESERVE: True}
    properties = root.get("properties")
    if isinstance(properties, dict):
        for name in ("apiVersion", "kind"):
            if isinstance(properties.get(name), dict):
                text = {k: v for k, v in properties[name].items() if k != _PRESERVE}
                properties[name] = {**text, "type": "string"}
        if isinstance(properties.get("metadata"), dict):
            # Of metadata, a schema of v1 may restrict the names alone.
            inner = mapping_at(properties["metadata"], "properties") or {}
            names = {name: inner[name] for name in ("name", "generateName") if name in inner}
            restricted = {"properties": names} if names else {}
            properties["metadata"] = {"type": "object", **restricted}
    return root


def _node(schema: JsonObject) -> JsonObject:
    node = {key: _below(key, value) for key, value in schema.items() if value is not None}
    if node.get(_INT_OR_STRING):
        return node
    alternatives = node.get("anyOf", node.get("oneOf"))
    one_list = ("anyOf" in node) != ("oneOf" in node)
    if "type" not in node and one_list and alternatives in (_EITHER, _EITHER[::-1]):
        # What speaks of objects and arrays alone says nothing here.
        others = ("anyOf", "oneOf", _PRESERVE, *_IMPLIED)
        rest = {key: value for key, value in node.items() if key not in others}
        _settle_logic(rest)
        return {**rest, _INT_OR_STRING: True, "anyOf": [dict(branch) for branch in _EITHER]}
    # Properties exclude additionalProperties; true and false have no structural meaning.
    additional = node.get("additionalProperties")
    if isinstance(additional, bool) or (additional is not None and node.get("properties")):
        del node["additionalProperties"]
        set_default(node, "type", "object")
    _settle_type(node)
    kind = node.get("type")
    if kind == "array":
        set_default(node, "items", {_PRESERVE: True})
    elif kind is None or (kind == "object" and "additionalProperties" not in node):
        node[_PRESERVE] = True
    return node


def _below(key: str, value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    if key == "properties":
        # A schema that is null is an empty one.
        schemas = {name: {} if schema is None else schema for name, schema in value.items()}
        return {n: _node(s) if isinstance(s, dict) else s for n, s in schemas.items()}
    return _node(value) if key in ("items", "additionalProperties") else value


def _settle_type(node: JsonObject) -> None:
    """Give a type to what implies one, unless its branches allow others, too."""
    if isinstance(node.get("type"), str) and node["type"] not in _TYPES:
        del node["type"]
    implied = next((_IMPLIED[key] for key in node if key in _IMPLIED), None)
    if "type" in node or implied is None:
        _settle_logic(node)
        return
    node["type"] = implied
    if not _settle_logic(node):
        del node["type"]


def _settle_logic(node: JsonObject) -> bool:
    """Take away what is not structural of anyOf and the like; say whether all could stay."""
    kept = {key: _logic(key, node[key], node) for key in (*_LOGIC, "not") if key in node}
    for key, value in kept.items():
        if value is None:
            del node[key]
        else:
            node[key] = value
    return None not in kept.values()


def _logic(key: str, value: Json, outer: JsonObject) -> Json:
    """Return one of these fields as it may stand beside `outer`, or None."""
    if key == "not" and isinstance(value, dict):
        return _branch(value, outer)
    if key != "not" and isinstance(value, list) and all(isinstance(i, dict) for i in value):
        branches = [_branch(branch, outer) for branch in value]
        return None if None in branches else branches
    return value


def _branch(branch: JsonObject, outer: JsonObject) -> JsonObject | None:
    """Return a branch without what `outer` says already, or None if more than that is in it."""
    kept: JsonObject = {}
    for key, value in branch.items():
        if key in _COSMETIC or value is None or (key == "type" and value == outer.get("type")):
            continue
        inner = None if key in _ONLY_OUTSIDE else _inner(key, value, outer)
        if inner is None:
            return None
        kept[key] = inner
    return kept


def _inner(key: str, value: Json, outer: JsonObject) -> Json:
    """Return a field of a branch, or None; properties and items must be known outside."""
    if key == "items" and isinstance(value, dict):
        outer_schema = mapping_at(outer, "items")
        return None if outer_schema is None else _branch(value, outer_schema)
    if key == "properties" and isinstance(value, dict):
        return _inner_properties(value, mapping_at(outer, "properties") or {})
    return _logic(key, value, outer) if key in (*_LOGIC, "not") else value


def _inner_properties(properties: JsonObject, outer: JsonObject) -> JsonObject | None:
    kept: JsonObject = {}
    for name, schema in properties.items():
        outer_schema = mapping_at(outer, name)
        if name == "metadata" or outer_schema is None or not isinstance(schema, dict):
            return None
        kept[name] = _branch(schema, outer_schema)
    return None if None in kept.values() else kept
