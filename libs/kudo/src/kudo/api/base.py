"""Base classes of the API models: reading and writing JSON.

Models are read leniently (unknown fields are ignored, as the original does) and written without
the fields that are unset. Field names are camelCase on the wire, as Kubernetes has them.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from kubeio.names import MAX_LABEL
from kudo.api import bounds
from kudo.api.names import OUTPUT_NAME
from kudo.api.wire import JsonObject

# Only the schemas enforce bounds: an object that is already stored can always be read.
Name = Annotated[str, Field(json_schema_extra={"maxLength": bounds.NAME})]
Text = Annotated[str, Field(json_schema_extra={"maxLength": bounds.TEXT})]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
"""The name of an object, a DNS subdomain, as a regular expression."""
OBJECT_NAME: Final[dict[str, JsonValue]] = {
    "maxLength": bounds.NAME,
    "pattern": f"^$|^{SUBDOMAIN}$",
}
"""The schema of the name of an object, a DNS subdomain; it may be empty."""
NAMESPACE_NAME: Final[dict[str, JsonValue]] = {"maxLength": MAX_LABEL, "pattern": f"^$|^{_LABEL}$"}
"""The schema of the name of a namespace, a DNS label; it may be empty."""
ServiceAccountName = Annotated[str, Field(json_schema_extra=OBJECT_NAME)]
AnyObject = Annotated[
    Mapping[str, object], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
]
"""A mapping of any content, such as a part of an object of Kubernetes, which is stored as it is."""
OutputName = Annotated[str, Field(json_schema_extra={"pattern": f"^{OUTPUT_NAME}$"})]
ParameterValue = Annotated[str, Field(json_schema_extra={"maxLength": bounds.VALUE})]
TemplateText = Annotated[str, Field(json_schema_extra={"maxLength": bounds.TEMPLATE})]

_UNIT = "(ns|us|\u00b5s|\u03bcs|ms|s|m|h)"
_PART = rf"([0-9]+([.][0-9]*)?|[.][0-9]+){_UNIT}"
_NOT_ZERO = rf"([0-9]*[1-9][0-9]*([.][0-9]*)?|[0-9]*[.][0-9]*[1-9][0-9]*){_UNIT}"
Duration = Annotated[
    str,
    Field(
        json_schema_extra={
            "maxLength": bounds.DURATION,
            "pattern": rf"^$|^[+]?({_PART})*{_NOT_ZERO}({_PART})*$",
        }
    ),
]
"""A duration of more than zero as Go reads it; see `kudo.api.times`."""


def at_most(items: int) -> dict[str, JsonValue]:
    """Return the schema extension that bounds the items of a list."""
    return {"maxItems": items}


def validations(*rules: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the schema extension with CEL rules that the API server evaluates.

    A rule compares with the stored object (`oldSelf`, optional) and passes whatever does not get
    worse: an object that breaks it and is already there can still be changed and deleted.
    """
    return {"x-kubernetes-validations": [{**rule, "optionalOldSelf": True} for rule in rules]}


class ApiModel(BaseModel):
    """Base of every model; instances are immutable values."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        # Objects may have fields of the original or of a later version.
        extra="ignore",
        # Caches and decisions share them.
        frozen=True,
        # Values of parameters may be secrets; an error names the field alone.
        hide_input_in_errors=True,
    )

    @classmethod
    def from_wire(cls, data: JsonObject) -> Self:
        """Read a JSON object as the API server sends it.

        Raises:
            pydantic.ValidationError: a field has a type that the schema does not allow.
        """
        return cls.model_validate(data)

    def to_wire(self) -> JsonObject:
        """Return the JSON object to send; fields at their default are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


_NOT_USED: Final = "Part of every reference of Kubernetes; not used."


class ObjectReference(ApiModel):
    """core/v1 ObjectReference. KUDO itself uses `name` and `namespace` only."""

    api_version: str | None = Field(None, description=_NOT_USED)
    field_path: str | None = Field(None, description=_NOT_USED)
    kind: str | None = Field(None, description=_NOT_USED)
    name: str | None = Field(None, description="Name of the object.")
    namespace: str | None = Field(
        None, description="Namespace of the object; if empty, that of the object that refers to it."
    )
    resource_version: str | None = Field(None, description=_NOT_USED)
    uid: str | None = Field(None, description=_NOT_USED)


class OwnerReference(ApiModel):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(ApiModel):
    """The fields of metav1.ObjectMeta that KUDO uses."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None


class ApiObject(ApiModel):
    """An object with apiVersion, kind and metadata."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    def to_wire(self) -> JsonObject:
        return {"apiVersion": self.api_version, "kind": self.kind} | super().to_wire()
