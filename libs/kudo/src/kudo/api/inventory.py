"""The Inventory: what the plans of an Instance have applied. See docs/design/20261123.inventory.md.

Only the reconciler writes it. It is a record, and never alone a reason to delete anything.
"""

from typing import Final

from pydantic import Field

from kudo.api.base import ApiModel, ApiObject, Name, Text, at_most
from kudo.api.names import API_VERSION

MOST_OBJECTS: Final = 500
"""Of one Inventory; further objects are in the next one of the Instance."""


class InventoryObject(ApiModel):
    """One object that a task has applied."""

    group: Name | None = Field(None, description="API group of the object; absent for the core.")
    version: Name = Field("", description="API version in which it was applied last.")
    kind: Name = Field("", description="Kind of the object.")
    resource: Name = Field("", description="Plural name of the kind.")
    namespace: Name | None = Field(
        None, description="Namespace of the object; absent if it is cluster-scoped."
    )
    name: Name = Field("", description="Name of the object.")
    uid: Name | None = Field(None, description="Its uid, as far as it is known.")
    plan: Name | None = Field(None, description="The plan that applied it last.")
    task: Name | None = Field(
        None, description="The task that applied it last; absent if it is not known."
    )
    digest: Text | None = Field(
        None,
        description="A prefix of the SHA-256 of what was applied; of Secrets an HMAC with the key "
        "of the installation, if it has one.",
    )
    shared: bool | None = Field(
        None, description="Whether it is cluster-scoped, so that other Instances may share it."
    )
    retained: bool | None = Field(
        None, description="Whether it stays when the Instance is deleted, by its template."
    )
    adopted: bool | None = Field(
        None, description="Whether it existed before, and stays when the Instance is deleted."
    )
    orphaned_by: Name | None = Field(
        None, description="The run after which no task applies it any more."
    )
    leaving: bool | None = Field(
        None,
        description="Whether the Instance shares it no more; it is deleted if no other one does.",
    )


class Inventory(ApiObject):
    """What the plans of an Instance have applied, or a part of it."""

    api_version: str = API_VERSION
    kind: str = "Inventory"
    complete: bool | None = Field(
        None,
        description="Whether everything that the Instance ever applied is on record; of the first "
        "of its Inventories.",
    )
    objects: tuple[InventoryObject, ...] | None = Field(
        None,
        description="The objects, in the order in which they were recorded.",
        json_schema_extra=at_most(MOST_OBJECTS),
    )
