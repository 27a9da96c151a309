"""CustomResourceDefinitions: schema, subresources and columns belong to each version.

Without `preserveUnknownFields: false` nothing was pruned in v1beta1, whatever the schema said. It
stays so: the schema is made structural and open, see `schema`.
"""

from typing import Final

from kudo.api import Json, JsonObject
from kudo.objects.removed_apis.schema import open_schema, structural
from kudo.objects.removed_apis.shapes import (
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
_PROTECTED: Final = ("k8s.io", "kubernetes.io")


def upgrade_definition(definition: JsonObject) -> None:
    spec = mapping_at(definition, "spec")
    if spec is None:
        return
    set_default(spec, "scope", "Namespaced")
    _upgrade_versions(spec)
    pruned = spec.get("preserveUnknownFields")
    for version in mappings_at(spec, "versions"):
        _upgrade_schema(version, everything_kept=pruned is not False)
        for column in mappings_at(version, "additionalPrinterColumns"):
            rename(column, "JSONPath", "jsonPath")
    if pruned is None or pruned is True:
        spec["preserveUnknownFields"] = False
    _upgrade_conversion(spec)
    _note_approval(definition, spec.get("group"))


def _upgrade_versions(spec: JsonObject) -> None:
    name = spec.pop("version", None)
    if name is not None and not spec.get("versions"):
        spec["versions"] = [{"name": name, "served": True, "storage": True}]
    for old, new in _OF_ALL_VERSIONS.items():
        value = spec.pop(old, None)
        if value is not None:
            for version in mappings_at(spec, "versions"):
                set_default(version, new, copied(value))


def _upgrade_schema(version: JsonObject, *, everything_kept: bool) -> None:
    validation = child(version, "schema")
    if validation is None:
        return
    schema = validation.get("openAPIV3Schema")
    if schema is None:
        validation["openAPIV3Schema"] = open_schema()
    elif everything_kept and isinstance(schema, dict):
        validation["openAPIV3Schema"] = structural(schema)


def _upgrade_conversion(spec: JsonObject) -> None:
    conversion = mapping_at(spec, "conversion")
    if conversion is None:
        return
    client = conversion.pop("webhookClientConfig", None)
    versions = conversion.pop("conversionReviewVersions", None)
    if conversion.get("strategy") != "Webhook" and client is None and versions is None:
        return
    webhook: JsonObject = {"conversionReviewVersions": versions or ["v1beta1"]}
    if client is not None:
        webhook["clientConfig"] = client
    set_default(conversion, "webhook", webhook)


def _note_approval(definition: JsonObject, group: Json) -> None:
    """Add the annotation that v1 wants of groups that look like those of Kubernetes."""
    if not isinstance(group, str) or not f".{group}".endswith(tuple(f".{g}" for g in _PROTECTED)):
        return
    metadata = mapping_at(definition, "metadata")
    annotations = None if metadata is None else child(metadata, "annotations")
    if annotations is not None:
        set_default(annotations, _APPROVAL, "unapproved, defined before approval was asked for")
