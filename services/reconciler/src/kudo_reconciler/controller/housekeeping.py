"""What an idle Instance needs beside its conditions: to prune, to adopt, to name its orphans.

Requests for it are annotations of the Instance, which are removed when they are fulfilled. Both are
operations, so that no worker waits for them, and end when a run begins.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from kubeio.errors import KubeError
from kubeio.leader_election.elector import NotLeading
from kudo.api import Instance, InstanceStatus, OperatorVersion, names
from kudo.api.identity import identity
from kudo.api.task_kinds import TaskError
from kudo.objects.inventory.orphans import all_orphans, in_status, prunes
from kudo.objects.inventory.record import Place, Record
from kudo.plans.runs.needs import why_undecided
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.execution.operations import Operations, StillGoing
from kudo_reconciler.objects.adopter import Adopted, Adopter
from kudo_reconciler.objects.pruner import Pruned, Pruner
from kudo_reconciler.store.instances import InstanceStore

log = logging.getLogger(__name__)

PRUNE, ADOPT = "prune", "adopt"
"""Names of operations, of which an Instance has one each at a time."""
_SOON_SECONDS: Final = 0.05
_REFUSED_SECONDS: Final = 300.0
"""No event tells that a right was granted."""
_NAMED: Final = 5
"""Number of objects or kinds that an event names."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The Instance after what was done for it.

    Attributes:
        instance: As it is stored now.
        look_again: Seconds until it is to be reconciled again; None if it need not.
        retry: Whether to requeue it with backoff.
    """

    instance: Instance
    look_again: float | None = None
    retry: bool = False


_Token = tuple[str, str, str | None]
"""uids of an Instance and of its last run, and the request that is being fulfilled."""


@dataclass(frozen=True, slots=True)
class _Staying:
    """Orphans that are known to stay.

    Attributes:
        token: When they were looked at.
        places: The orphans.
        until: Time of the event loop's clock from which on they are looked at again.
    """

    token: _Token
    places: frozenset[Place]
    until: float


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """Prunes and adopts for idle Instances."""

    instances: InstanceStore
    operations: Operations
    events: EventRecorder
    pruner: Pruner
    adopter: Adopter
    stopping: Callable[[], bool]
    _staying: dict[Key, _Staying] = field(default_factory=dict)

    def with_orphans(self, instance: Instance, status: InstanceStatus) -> InstanceStatus:
        """Return a status that names the orphans on record; without orphans no field does."""
        return with_orphans(status, self._record(instance))

    async def forget(self, key: Key) -> None:
        """Stop what is done for an Instance that does not exist any more."""
        self._staying.pop(key, None)
        await self.stop(key)

    async def stop(self, key: Key) -> None:
        """Stop what is done for an Instance; only a write that is in flight is awaited."""
        await self.operations.forget(key, PRUNE, ADOPT)

    async def of(self, instance: Instance, version: OperatorVersion) -> Kept:
        """Prune and adopt for an idle Instance whose spec is not refused.

        Raises:
            Outdated: the Instance changed since it was read.
            NotLeading: this replica is not the leader any more.
        """
        if instance.suspended:
            return Kept(instance)
        adopted = await self._adopt(instance, version)
        if _asked(adopted.instance, names.ANNOTATION_ADOPT_REQUESTED) is not None:
            return adopted
        return await self._prune(adopted.instance, version)

    # Adopt

    async def _adopt(self, instance: Instance, version: OperatorVersion) -> Kept:
        asked = _asked(instance, names.ANNOTATION_ADOPT_REQUESTED)
        if asked is None:
            return Kept(instance)
        key, metadata = key_of(instance), instance.metadata
        token = metadata.uid, asked, version.metadata.resource_version

        async def work() -> bool:
            self.pruner.recorder.ignored.tell(identity(instance))
            adopted = await self.adopter.adopt(
                instance, version, lambda: self._is_idle(key, instance)
            )
            if adopted is not None:
                self._tell_adopted(instance, asked, adopted)
            return adopted is not None

        try:
            done = await self.operations.result(key, ADOPT, token, work)
        except StillGoing:
            return Kept(instance)
        except (KubeError, TaskError) as error:
            if isinstance(error, TaskError):
                uid = f"{metadata.uid}.{asked}"
                self.events.warning(instance, uid, error.reason, f"nothing is adopted: {error}")
            return _failed(instance, error)
        if not done:
            return Kept(instance, look_again=_SOON_SECONDS)
        name = names.ANNOTATION_ADOPT_REQUESTED
        return Kept(await self.instances.remove_annotation(instance, name, asked))

    def _tell_adopted(self, instance: Instance, asked: str, adopted: Adopted) -> None:
        belong = "object belongs" if adopted.objects == 1 else "objects belong"
        were = "was" if adopted.added == 1 else "were"
        text = f"{adopted.objects} {belong} to the Instance, {adopted.added} of them {were} "
        text += "not on record"
        if adopted.unlisted:
            text += (
                f"; these kinds could not be listed, and may have more: {_some(adopted.unlisted)}"
            )
        if adopted.cut:
            text += "; there are more, which are not recorded"
        owner = identity(instance)
        self.events.note(owner, f"{owner.uid}.{asked}", "Normal", "InventoryAdopted", text)

    # Prune

    async def _prune(self, instance: Instance, version: OperatorVersion) -> Kept:
        key, asked = key_of(instance), _asked(instance, names.ANNOTATION_PRUNE_REQUESTED)
        if asked is None and not prunes(instance, version):
            return Kept(instance)
        undecided = why_undecided(instance, version)
        if undecided:
            # What is deleted in this moment was marked for another version.
            await self.operations.forget(key, PRUNE)
            if asked is None:
                return Kept(instance)
            if all_orphans(self._record(instance)):
                self._tell_kept(instance, asked, undecided)
            name = names.ANNOTATION_PRUNE_REQUESTED
            return Kept(await self.instances.remove_annotation(instance, name, asked))
        token = instance.metadata.uid, _last_run(instance), asked
        orphans = frozenset(entry.place for entry in all_orphans(self._record(instance)))
        # Those that are known to stay need not be looked at now: this is asked at each reconcile.
        known_to_stay = self._staying.get(key)
        staying = frozenset[Place]()
        if (
            known_to_stay is not None
            and known_to_stay.token == token
            and known_to_stay.until > loop_seconds()
        ):
            staying = known_to_stay.places
        # A former leader may have recorded orphans that the cache lacks.
        is_current = self.pruner.recorder.inventories.is_current(identity(instance))
        if is_current and orphans <= staying:
            # The result of an operation that has ended is not needed any more.
            await self.operations.forget(key, PRUNE)
            return await self._pruned(instance, asked)

        async def work() -> Pruned:
            return await self._work(instance, staying, token)

        try:
            done = await self.operations.result(key, PRUNE, token, work)
        except StillGoing:
            return Kept(instance)
        except (KubeError, TaskError) as error:
            if isinstance(error, TaskError):
                self._tell_kept(instance, asked, str(error))
            return _failed(instance, error)
        if done.failed:
            return Kept(instance, retry=True)
        if done.unfinished:
            return Kept(instance, look_again=_SOON_SECONDS)
        return await self._pruned(instance, asked)

    async def _pruned(self, instance: Instance, asked: str | None) -> Kept:
        """Remove a request that is fulfilled; say when orphans are looked at again."""
        if asked is not None:
            name = names.ANNOTATION_PRUNE_REQUESTED
            return Kept(await self.instances.remove_annotation(instance, name, asked))
        staying = self._staying.get(key_of(instance))
        if staying is None or staying.until == inf:
            return Kept(instance)
        return Kept(instance, look_again=max(_SOON_SECONDS, staying.until - loop_seconds()))

    async def _work(self, instance: Instance, staying: frozenset[Place], token: _Token) -> Pruned:
        key, owner = key_of(instance), identity(instance)
        # A former leader may have written to it.
        await self.instances.of_this_term(key)
        self.pruner.recorder.ignored.tell(owner)

        def may_delete(place: Place) -> bool:
            entry = self.pruner.recorder.of(owner).get(place)
            return self._is_idle(key, instance) and entry is not None and bool(entry.orphaned_by)

        done = await self.pruner.prune(instance, may_delete, staying)
        # Only those that failed are looked at again: others may have to wait for an operation.
        places = staying.union(done.kept) - done.failed
        until = loop_seconds() + _REFUSED_SECONDS if done.refused else inf
        before = self._staying.get(key)
        if staying and before is not None:
            # Of the orphans before these some may be waiting for a right.
            until = min(until, before.until)
        self._staying[key] = _Staying(token, places, until)
        if done.deleted:
            what = "object" if len(done.deleted) == 1 else "objects"
            was = "was" if len(done.deleted) == 1 else "were"
            text = f"{len(done.deleted)} {what} that plans no longer apply {was} deleted: "
            subject = f"{owner.uid}.{_last_run(instance)}.{token[-1]}"
            text += _some(list(map(str, done.deleted)))
            self.events.note(owner, subject, "Normal", "ObjectsPruned", text)
        if done.shared:
            stay = _some([f"{place}, for {other}" for place, other in done.shared.items()], "; ")
            text = "objects that plans no longer apply stay for other Instances, and this one "
            text += f"shares them no longer: {stay}"
            self.events.note(owner, owner.uid, "Normal", "ClusterResourcesKept", text)
        if done.kept:
            texts = [f"{place}: {why}" for place, why in sorted(done.kept.items())]
            self._tell_kept(instance, token[-1], _some(texts, "; "))
        return done

    def _tell_kept(self, instance: Instance, asked: str | None, why: str) -> None:
        """Tell why orphans stay; the same only once, unless somebody asks again."""
        owner, text = identity(instance), f"objects that plans no longer apply stay: {why}"
        occasion = owner.uid if asked is None else f"{owner.uid}.{asked}"
        self.events.note(owner, occasion, "Warning", "ObjectsNotPruned", text)

    # Both

    def _record(self, instance: Instance) -> Record:
        return self.pruner.recorder.of(identity(instance))

    def _is_idle(self, key: Key, before: Instance) -> bool:
        """Return whether an Instance is the same still, and nothing is to run for it."""
        now = self.instances.cached(key)
        return (
            now is not None
            and not self.stopping()
            and now.metadata.uid == before.metadata.uid
            and not now.metadata.deleting
            and not now.suspended
            and not now.scheduled.plan_name
            and _last_run(now) == _last_run(before)
        )


def with_orphans(status: InstanceStatus, record: Record | None) -> InstanceStatus:
    """Return a status with the orphans that are on record; as it is if there is no record."""
    if record is None:
        return status
    named, more = in_status(record)
    return status.model_copy(update={"orphans": named or None, "orphans_left_out": more or None})


def _failed(instance: Instance, error: KubeError | TaskError) -> Kept:
    """Return that what an Instance needs is tried again with backoff.

    Raises:
        NotLeading: this replica is not the leader any more.
    """
    if isinstance(error, NotLeading):
        raise error
    log.warning("upkeep failed", extra={"error": str(error)})
    return Kept(instance, retry=True)


def _asked(instance: Instance, annotation: str) -> str | None:
    """Return the value of a request; None if there is none."""
    return (instance.metadata.annotations or {}).get(annotation)


def _last_run(instance: Instance) -> str:
    last = instance.status.last_run
    return (last.uid if last is not None else None) or ""


def _some(texts: Sequence[str], separator: str = ", ") -> str:
    """Return the first texts, and the number of the others."""
    named, others = separator.join(texts[:_NAMED]), len(texts) - _NAMED
    return f"{named}{separator}and {others} others" if others > 0 else named
