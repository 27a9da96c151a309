"""Asks whether the Instances that share a cluster-scoped object still exist, as the user.

The annotation of an object lists its sharers; those that are gone stay in it.
"""

from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.inventory.keeping import others
from kubeio.client import Client
from kubeio.errors import ApiError, NotFound
from kudo.identity import InstanceIdentity
from kudo.objects.sharing import MOST_LISTED, lists_all

_ASKED: Final = MOST_LISTED
"""Instances of an object that are read at most; anybody who may change the object can list more."""
_MANY: Final = f"{MOST_LISTED} Instances or more shared it"


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares an object.

    Attributes:
        living: Another Instance that shares it and exists; None if none is known.
        doubt: Why there may be one all the same; empty if there is none.
    """

    living: InstanceIdentity | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class LivingSharers:
    """Tells who shares objects; each Instance is read once."""

    client: Client
    known: dict[InstanceIdentity, bool | None] = field(default_factory=dict)

    async def of(self, metadata: JsonObject, one: InstanceIdentity) -> Sharing:
        """Return who shares a cluster-scoped object beside an Instance.

        Raises:
            ConnectionLost: the API server does not answer any more.
        """
        listed, doubt = others(metadata, one), ""
        for other in islice(listed, _ASKED):
            exists = await self._exists(other)
            if exists:
                return Sharing(other)
            if exists is None:
                doubt = doubt or f"you may not read whether Instance {other} exists"
        if len(listed) > _ASKED or not lists_all(metadata):
            return Sharing(doubt=_MANY)
        return Sharing(doubt=doubt)

    async def _exists(self, one: InstanceIdentity) -> bool | None:
        """Return whether an Instance exists; None if that is not known."""
        if one not in self.known:
            self.known[one] = await self._read(one)
        return self.known[one]

    async def _read(self, one: InstanceIdentity) -> bool | None:
        try:
            found = await self.client.get(
                INSTANCES, one.name, namespace=one.namespace, metadata_only=True
            )
        except NotFound as error:
            return None if not error.details else False
        except ApiError:
            return None
        except ValueError:  # no Instance can have such a name
            return False
        return bool(found["metadata"]["uid"] == one.uid)
