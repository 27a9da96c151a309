"""Whether an Instance shares a cluster-scoped object that it has on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry
from kudo.objects.sharing import is_listed, lists_all

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json


def has_applied(entry: Entry, metadata: Mapping[str, Json], one: InstanceIdentity) -> bool:
    """Return whether an Instance has applied a cluster-scoped object that it has on record.

    An object is on record before it is applied, and the plan may never come to it. Its uid is on
    record at the end of the run; until then, the object itself lists who has applied it, unless too
    many have.

    Args:
        entry: Of the record.
        metadata: Of the object as it is.
        one: The Instance.
    """
    if entry.leaving or (entry.uid and entry.uid == metadata.get("uid")):
        return True
    return is_listed(metadata, one) or not lists_all(metadata)
