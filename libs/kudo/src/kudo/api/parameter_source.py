"""Sources of values of parameters outside of an Instance: keys of Secrets and ConfigMaps.

A `ParameterSource` is what an Instance says; its `Reference` is what comparisons see in the place
of a value. Reading the value is the task of the reconciler alone.
"""

from typing import Final

from pydantic import ConfigDict, Field, JsonValue

from kubeio.names import MAX_SUBDOMAIN
from kudo.api.base import SUBDOMAIN, ApiModel, Name, validations
from kudo.api.setting import CONFIG_MAP, SECRET, Reference

ONE_SOURCE: Final = "it names none or both of secretKeyRef and configMapKeyRef; name one of them"
"""What both the CRD and the rules of admission say."""
KEY: Final = "[-._a-zA-Z0-9]+"
"""The keys of Secrets and ConfigMaps, as a regular expression."""

# It passes what is stored already, as the other rules do.
_ONE_SOURCE: dict[str, JsonValue] = {
    "rule": "has(self.secretKeyRef) != has(self.configMapKeyRef) || (oldSelf.hasValue() && "
    "oldSelf.?secretKeyRef.hasValue() == oldSelf.?configMapKeyRef.hasValue())",
    "message": f"ParameterSourceInvalid: {ONE_SOURCE}",
}


class KeySelector(ApiModel):
    """A key of an object in the namespace of the Instance."""

    name: str = Field(
        description="Name of the object.",
        json_schema_extra={"maxLength": MAX_SUBDOMAIN, "pattern": f"^{SUBDOMAIN}$"},
    )
    key: str = Field(
        description="The key in its data.",
        json_schema_extra={"maxLength": MAX_SUBDOMAIN, "pattern": f"^{KEY}$"},
    )


class ParameterSource(ApiModel):
    """The source of the value of a parameter."""

    model_config = ConfigDict(json_schema_extra=validations(_ONE_SOURCE))

    name: Name = Field(description="Name of the parameter.", json_schema_extra={"minLength": 1})
    secret_key_ref: KeySelector | None = Field(
        None, description="A key of a Secret, for a parameter that is secret."
    )
    config_map_key_ref: KeySelector | None = Field(
        None, description="A key of a ConfigMap, for a parameter that is not secret."
    )

    @property
    def reference(self) -> Reference:
        secret, config_map = self.secret_key_ref, self.config_map_key_ref
        if secret is not None and config_map is None:
            return Reference(SECRET, secret.name, secret.key)
        if config_map is not None and secret is None:
            return Reference(CONFIG_MAP, config_map.name, config_map.key)
        return Reference("", "", "")

    @classmethod
    def of(cls, name: str, reference: Reference) -> "ParameterSource":
        """Return the source of a parameter for a reference to a Secret or a ConfigMap."""
        selector = KeySelector(name=reference.name, key=reference.key)
        if reference.kind == SECRET:
            return cls(name=name, secret_key_ref=selector)
        return cls(name=name, config_map_key_ref=selector)


class SourceRecord(ApiModel):
    """What a run read from the source of a parameter. It says nothing about the value itself."""

    digest: str = Field(
        "",
        description="Of the value. That of a secret one is made with the key of the installation, "
        "so that nobody finds the value by trying.",
    )
    uid: str | None = Field(None, description="uid of the object that was read.")
    resource_version: str | None = Field(
        None, description="Its resourceVersion: another one shows that it has changed since."
    )
    began_with: str | None = Field(
        None,
        description="The digest of the value that the run began with, if it leaves that to another "
        "plan to bring into force.",
    )
