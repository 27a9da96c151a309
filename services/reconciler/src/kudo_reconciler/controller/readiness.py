"""The situation of an idle Instance, from its last run and the objects that make it Ready.

The objects come out of caches, which are read with the reconciler's own rights. Before a status
tells that some are not ready, it is asked whether the account of the Instance may get their kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from kubeio.client import Client
from kubeio.connection.identity import Identity
from kubeio.errors import Forbidden, KubeError
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import Resource
from kudo.api import Instance, InstanceStatus
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.health import readiness
from kudo.plans.runs.conditions import RESOURCES_UNKNOWN, Situation
from kudo.plans.runs.status import settled
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.common.keys import READINESS_KINDS, key_of
from kudo_reconciler.objects.observer import Observer

_LATE_SECONDS: Final = 30.0
_REFUSED_SECONDS: Final = 90.0
"""No event tells that a right was granted. It is more than the time that an answer is kept."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The situation of an idle Instance, as far as it is known.

    Attributes:
        situation: None if the conditions stay as they are.
        look_again: Seconds until the Instance is reconciled again; None to wait for an event.
    """

    situation: Situation | None
    look_again: float | None = None


_UNKNOWN: Final = Finding(None, _LATE_SECONDS)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Finds out whether the objects of Instances are ready.

    Attributes:
        client: The reconciler's own.
        identity_of: Returns the identity that an Instance acts as; None is the reconciler's own.
            It raises FatalTaskError or TransientTaskError if there is none.
    """

    observer: Observer
    client: Client
    identity_of: Callable[[Instance], Identity | None]

    async def of(self, instance: Instance, status: InstanceStatus) -> Finding:
        """Return the situation of an idle Instance.

        It is unknown while the first lists of its kinds are in progress, as after a start: all
        Instances are reconciled once the lists are complete. In case they fail in the end, and no
        event follows, it is to be looked at again.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        key = key_of(instance)
        await self.observer.watch_all(READINESS_KINDS)
        unknown = [kind for kind in READINESS_KINDS if not self.observer.watched(kind)]
        if unknown and all(map(self.observer.is_late, unknown)):
            return _UNKNOWN
        if unknown:
            text = "; ".join(map(self.observer.why_unwatched, unknown))
            return Finding(Situation((RESOURCES_UNKNOWN, text)))
        by_kind = {
            kind: readiness(self.observer.of_instance(kind, key)) for kind in READINESS_KINDS
        }
        situation = settled(status, tuple(sorted(chain.from_iterable(by_kind.values()))))
        if situation == settled(status, ()):
            # All are ready, or the last run failed: nothing is told of them.
            return Finding(situation)
        return await self._as_account(
            instance, [kind for kind in by_kind if by_kind[kind]], situation
        )

    async def _as_account(
        self, instance: Instance, kinds: list[Resource], situation: Situation
    ) -> Finding:
        """Return what may be told of objects of these kinds to who reads the Instance."""
        try:
            identity = self.identity_of(instance)
        except (FatalTaskError, TransientTaskError) as error:
            return _refused(str(error))
        client, namespace = self.client.acting(identity), instance.metadata.namespace
        try:
            refused = [
                kind.name
                for kind in kinds
                if not await self.observer.reviews.ask(client, kind, namespace)
            ]
        except NotLeading:
            raise
        except Forbidden as error:
            return _refused(error_text(error, kinds[0]))
        except KubeError:
            return _UNKNOWN
        if not refused or identity is None:
            return Finding(situation)
        text = f"{identity.user} may not get {', '.join(refused)} in the namespace {namespace}"
        return _refused(f"{text}; grant it that right, so that Ready can tell of them")


def _refused(text: str) -> Finding:
    return Finding(Situation((RESOURCES_UNKNOWN, text)), _REFUSED_SECONDS)
