"""Restores the records of living Instances that somebody else has changed or deleted."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from kubeio.errors import KubeError
from kubeio.leader_election.elector import NotLeading
from kudo.api import Instance
from kudo.api.identity import identity
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.controller.context import ReconcileContext
from kudo_reconciler.objects.damage import SECONDS

log = logging.getLogger(__name__)

_TEXT = (
    "somebody else has changed or deleted Inventories of this Instance, which only KUDO writes: "
    "what it knew of them is restored"
)


@dataclass(frozen=True, slots=True)
class Restoring:
    """Restores records.

    Attributes:
        context: Of reconciles.
        later: Enqueues an Instance after some seconds.
    """

    context: ReconcileContext
    later: Callable[[Key, float], None]

    async def restore(self, instance: Instance) -> None:
        """Restore the record of an Instance if that is due; what fails is tried again later.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        recorder, key, owner = self.context.recorder, key_of(instance), identity(instance)
        if recorder.damage.of(owner) is None:
            return
        wait = recorder.damage.wait(key)
        if wait > 0:
            self.later(key, wait)
            return
        recorder.damage.tried(key)
        try:
            # The garbage collector deletes Inventories, too, and its event may come first.
            live = await self.context.instances.live(key)
            if live is None or live.metadata.uid != owner.uid or live.metadata.deleting:
                recorder.damage.forget(key)
                return
            self.context.events.warning(instance, owner.uid, "InventoryChanged", _TEXT)
            await recorder.save(owner, lambda record: record)
        except NotLeading:
            raise
        except KubeError as error:
            log.warning("inventory not restored", extra={"error": str(error)})
            self.later(key, SECONDS)
