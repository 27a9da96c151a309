"""Reads the record of an Instance from its Inventories.

See docs/design/20261123.inventory.md. What is read is a hint: the live object decides.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_kudo.session.errors import describe
from kubectl_kudo.session.kinds import INVENTORIES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import ApiError, NotFound
from kubeio.names import MAX_LABEL
from kudo.api.identity import InstanceIdentity
from kudo.api.names import LABEL_INSTANCE
from kudo.objects.inventory.record import Entry, Record, inventory_name, owner_of, read_entries


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of an Instance, as far as the user may read it.

    Attributes:
        record: None if there is none, or it cannot be read.
        ignored: Entries that no plan can have made, which were left out.
        problem: Why there is no record, after "because"; empty if the Instance just has none yet.
        served: Whether the cluster has Inventories; an older release of KUDO has none.
    """

    record: Record | None = None
    ignored: int = 0
    problem: str = ""
    served: bool = True

    @property
    def complete(self) -> bool:
        """Whether everything that the Instance ever applied is on record."""
        return self.record is not None and self.record.complete

    def orphans(self) -> tuple[Entry, ...]:
        """Return the objects that no task applies any more."""
        return tuple(entry for entry in self.record or () if entry.orphaned_by)


def identity_of(instance: JsonObject) -> InstanceIdentity:
    metadata = instance["metadata"]
    return InstanceIdentity(metadata["namespace"], metadata["name"], metadata["uid"])


async def recorded(session: Session, instance: JsonObject) -> Recorded:
    """Read the record of an Instance.

    Raises:
        KubeError: there is no answer.
    """
    one = identity_of(instance)
    # A longer name is in no label: all of the namespace are read then.
    selector = f"{LABEL_INSTANCE}={one.name}" if len(one.name) <= MAX_LABEL else None
    try:
        listing = await session.client.list(
            INVENTORIES, namespace=one.namespace, label_selector=selector
        )
    except NotFound:
        text = f"the cluster does not serve {INVENTORIES.name}: upgrade KUDO"
        return Recorded(problem=text, served=False)
    except ApiError as error:
        return Recorded(problem=str(describe(error)))
    return read_record(one, listing.items)


def read_record(one: InstanceIdentity, inventories: Iterable[JsonObject]) -> Recorded:
    """Return the record that Inventories hold; those of other Instances are left out."""
    own = {obj["metadata"]["name"]: obj for obj in inventories if owner_of(obj["metadata"]) == one}
    record, ignored = Record(), 0
    for number in range(len(own)):
        obj = own.get(inventory_name(one, number))
        if obj is None:  # as the reconciler, which takes those with other names for not its own
            break
        if number == 0:
            record = Record(complete=obj.get("complete") is True)
        entries, left_out = read_entries(obj)
        record, ignored = record.merged(entries), ignored + left_out
    known = inventory_name(one, 0) in own
    return Recorded(record, ignored) if known else Recorded()
