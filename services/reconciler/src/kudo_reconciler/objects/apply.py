"""Server-side apply of one object.

    known? ── no ──> create it ── 409 ──> read it ──┐
      └── yes ──> whose is it? <────────────────────┘
                  └──> take its fields over ──> apply it as it was seen

An object that has been seen is applied with its uid and resourceVersion, so that a write held up in
the network never lands on an object that changed since, nor creates it anew. See `ownership` for
the rules. One that has not been seen is applied with a resourceVersion that no object has: the API
server creates it, or answers 409 where there is one, since all Instances share our field manager
and it would let the second take what the first made. So nothing is read before a creation.
"""

import logging
from dataclasses import dataclass, field, replace

from kubeio import jsonpatch
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, Conflict, ConnectionLost, NotFound, ServerError
from kubeio.preconditions import ObjectChanged, unchanged
from kudo import names
from kudo.api import JsonObject
from kudo.api_errors import typed_patch
from kudo.api_errors.advice import advice
from kudo.objects.adoption import holds_data, without_owner
from kudo.objects.managed_fields import last_applied, migrated, needs_migration, with_entry_of
from kudo.objects.sharing import (
    Claim,
    as_applied_last,
    differs,
    goes_with_instance,
    has_room,
    sharers,
)
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.errors import Superseded
from kudo_reconciler.keys import key_of
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.cached_objects import is_whole, written_by
from kudo_reconciler.objects.locks import KeyedLocks
from kudo_reconciler.objects.observer import ObjectWrite, Observer
from kudo_reconciler.objects.ownership import Desired, Ownership
from kudo_reconciler.objects.refusals import (
    Refusal,
    stays_refused,
    task_error,
    told,
    without_secrets,
)
from kudo_reconciler.objects.run_context import Place, RunContext, check_current

log = logging.getLogger(__name__)

_NOTHING_STORED = "1"
"""A resourceVersion of no object: etcd counts from 1, and its first write makes it 2."""
_ATTEMPTS = 5
_MENDS = 30
_NAMED = 3
"""So many of the Instances that share an object an event names."""


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies objects on behalf of an Instance.

    Every request about an object goes out by `RunContext.client`, and so as whom the task acts.

    Attributes:
        discovery: Asks as ourselves: which kinds are served is no secret of any tenant.
    """

    discovery: Discovery
    observer: Observer
    ownership: Ownership
    metrics: Metrics
    locks: KeyedLocks[Place] = field(default_factory=KeyedLocks)

    async def apply(self, desired: Desired, context: RunContext) -> JsonObject:
        """Apply an enriched object and return it as the API server has it.

        Raises:
            Superseded: the run was replaced meanwhile.
            FatalTaskError: the API server will not take the object.
            TransientTaskError: it may take it later.
        """
        async with self.locks.of(desired.place):
            with self.observer.writing(*desired.place, key_of(context.instance)) as write:
                return await self._apply(desired, context, write)

    async def _apply(self, desired: Desired, context: RunContext, write: ObjectWrite) -> JsonObject:
        known = await self._known(desired, context)
        for _ in range(_ATTEMPTS):
            if known is not None:
                context.seen.add(desired.place)
            try:
                applied = await self._mending(desired, known, context)
            except Conflict as conflict:
                known = await self._after_conflict(desired, conflict, context)
            except NotFound as error:
                # The namespace is gone, or the kind is.
                self.discovery.invalidate(desired.resource.api_version)
                if known is None:
                    raise self._refused(desired, error) from error
                known = await self._read_again(desired, context)
            except (ApiError, ConnectionLost) as error:
                raise self._refused(desired, error) from error
            else:
                self.metrics.applied.labels("applied").inc()
                context.seen.add(desired.place)
                write.answered(applied, after=known)
                return applied
        text = f"{desired.manifest} keeps changing while it is applied"
        raise TransientTaskError("TaskApplyError", text)

    async def _known(self, desired: Desired, context: RunContext) -> JsonObject | None:
        """Return the object as the cache or the API server has it; None to create it."""
        if self.observer.lacks(*desired.place):
            # Most likely it is new. One that lacks our label answers the creation with 409.
            return None
        try:
            return await self.observer.current(
                desired.resource, desired.namespace, desired.name, client=context.client
            )
        except (ApiError, ConnectionLost) as error:
            raise self._refused(desired, error) from error

    async def _mending(
        self, desired: Desired, known: JsonObject | None, context: RunContext
    ) -> JsonObject:
        """Apply an object without what its kind does not have.

        The API server may name one field at a time.
        """
        for _ in range(_MENDS):
            try:
                return await self._attempt(desired, known, context)
            except ServerError as error:
                mended = typed_patch.mended(desired.target, error.message)
                if mended is None:
                    raise
                for note in mended.notes:
                    context.tell("Warning", note.reason, f"{desired.manifest}: {note.text}")
                desired = replace(desired, target=mended.target)
        text = f"{desired.manifest} has more than {_MENDS} fields that its kind does not have"
        raise FatalTaskError("TaskApplyError", text)

    async def _attempt(
        self, desired: Desired, known: JsonObject | None, context: RunContext
    ) -> JsonObject:
        if known is None:
            return await self._create(desired, context)
        claim, others = await self.ownership.claim(desired, known, context.instance)
        if desired.resource.kind == "Job" and known["metadata"].get("deletionTimestamp"):
            # Its last state would count for the one that is wanted now.
            text = f"{desired.manifest} is being deleted: it is applied once it is gone"
            raise TransientTaskError("TaskApplyError", text)
        if claim is Claim.FOREIGN:
            return await self._adopt(desired, known, context)
        known = await self._with_our_fields(desired, known, context)
        if claim is Claim.KEPT:
            desired = _without_owner(desired, context)
        if claim is Claim.SHARED:
            return await self._share(desired, known, others, context)
        return await self._send(desired, known, context, force=True)

    async def _create(self, desired: Desired, context: RunContext) -> JsonObject:
        """Create an object; 409 if there is one of its name.

        It must not be there: what somebody else made meanwhile would get our owner reference, and
        of two Instances that create a cluster-scoped object only one would be written on it.
        """
        if desired.place in context.seen:
            await self._check_instance(context)
        target = await self.ownership.shared(desired, None, context.instance)
        # An apply and no POST: `managedFields` has it as what it is, and fields that the kind does
        # not have are told, not dropped.
        target = _with_metadata(target, resourceVersion=_NOTHING_STORED)
        return await self._apply_now(desired, target, context, force=False)

    async def _check_instance(self, context: RunContext) -> None:
        """Read the Instance before something is created again that was there in this run.

        It may have been collected with the Instance, whose deletion the cache has not told of: a
        Job would run a second time for nobody.

        Raises:
            Superseded: the Instance is gone, or being deleted.
        """
        now = await self.ownership.instances.live(key_of(context.instance))
        metadata = context.instance.metadata
        if (
            now is None
            or now.metadata.uid != metadata.uid
            or now.metadata.deleting != metadata.deleting
        ):
            raise Superseded

    async def _adopt(self, desired: Desired, known: JsonObject, context: RunContext) -> JsonObject:
        """Apply an object that belongs to nobody, and tell what becomes of it."""
        if _holds_data(desired):
            desired = _without_owner(desired, context)
        applied = await self._send(desired, known, context, force=False)
        text = f"{desired.manifest} existed and belonged to nobody: it is managed by us now, and "
        context.tell("Normal", "ObjectAdopted", text + _fate(desired))
        return applied

    async def _send(
        self,
        desired: Desired,
        known: JsonObject,
        context: RunContext,
        *,
        force: bool,
        dry_run: bool = False,
    ) -> JsonObject:
        """Apply an object to exactly the one that was seen."""
        target = await self.ownership.shared(desired, known, context.instance)
        if not desired.resource.namespaced:
            _check_room(desired, known, target)
        seen = {key: known["metadata"][key] for key in ("uid", "resourceVersion")}
        target = _with_metadata(target, **seen)
        return await self._apply_now(desired, target, context, force=force, dry_run=dry_run)

    async def _apply_now(
        self,
        desired: Desired,
        target: JsonObject,
        context: RunContext,
        *,
        force: bool,
        dry_run: bool = False,
    ) -> JsonObject:
        check_current(context)
        return await context.client.apply(
            desired.resource,
            target,
            field_manager=names.FIELD_MANAGER,
            force=force,
            dry_run=dry_run,
        )

    async def _with_our_fields(
        self, desired: Desired, known: JsonObject, context: RunContext
    ) -> JsonObject:
        """Make ours what we or the original wrote in another way, so that it can be dropped."""
        annotations = known["metadata"].get("annotations") or {}
        if not needs_migration(written_by(known), annotations):
            return known
        live = await context.client.get(desired.resource, desired.name, namespace=desired.namespace)
        if live["metadata"]["uid"] != known["metadata"]["uid"]:
            raise Conflict("the object was replaced meanwhile", status=409)
        # From here on what is written follows this state, which the cache may not have told of.
        self.observer.read(desired.resource, live)
        entries = migrated(live["metadata"], desired.resource.api_version)
        if entries is None:
            entries = await self._from_last_applied(desired, live, context)
        if entries is None:
            return live
        return await self._patch(
            desired, live, context, jsonpatch.add("/metadata/managedFields", entries)
        )

    async def _from_last_applied(
        self, desired: Desired, live: JsonObject, context: RunContext
    ) -> list[JsonObject] | None:
        """Have the API server say which fields are those that the original applied.

        It wrote them down on the object. Where `managedFields` lacks its entry, since the object is
        older than that or was written in an API version that is gone, nothing else tells.
        """
        applied = last_applied(live)
        if applied is None:
            return None
        try:
            planned = await self._send(
                replace(desired, target=applied), live, context, force=True, dry_run=True
            )
        except ApiError as error:
            # What was applied then may be no valid object today; what is dropped now stays.
            why = told(error, applied)
            log.info(
                "managed fields not migrated", extra={"object": str(desired.manifest), "why": why}
            )
            return None
        return with_entry_of(live["metadata"], planned["metadata"])

    async def _share(
        self, desired: Desired, known: JsonObject, others: tuple[str, ...], context: RunContext
    ) -> JsonObject:
        """Apply an object that other Instances apply, too.

        Where it is what they have applied, the write adds a sharer and changes nothing else.
        """
        live = known
        if not is_whole(live):
            live = await context.client.get(desired.resource, desired.name)
            self.observer.read(desired.resource, live)
            if live["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
                # Whose it is was decided by what the cache had; it may be anybody's by now.
                raise ObjectChanged
        same = replace(desired, target=as_applied_last(desired.target, live))
        applied = await self._send(same, live, context, force=True)
        if not differs(applied, live):
            return applied
        text = (
            f"{desired.manifest} was applied by Instance {_some(others)} with another content: it "
            "is applied as this template has it"
        )
        context.tell("Warning", "ObjectShared", text)
        return await self._send(desired, applied, context, force=True)

    async def _patch(
        self, desired: Desired, known: JsonObject, context: RunContext, change: JsonObject
    ) -> JsonObject:
        """Change an object, if it is still as it was seen."""
        version = known["metadata"]["resourceVersion"]
        check_current(context)
        async with unchanged(version, lambda: self._read_again(desired, context)):
            return await context.client.json_patch(
                desired.resource,
                desired.name,
                [jsonpatch.test("/metadata/resourceVersion", version), change],
                namespace=desired.namespace,
                field_manager=names.FIELD_MANAGER,
            )

    async def _after_conflict(
        self, desired: Desired, conflict: Conflict, context: RunContext
    ) -> JsonObject | None:
        """Read the object again; refuse if its fields are somebody else's."""
        live = await self._read_again(desired, context)
        if not conflict.field_managers:
            return live
        if live is not None:
            claim, _ = await self.ownership.claim(desired, live, context.instance)
        if live is None or claim is Claim.FOREIGN:
            raise self._refused(desired, conflict)
        return live

    async def _read_again(self, desired: Desired, context: RunContext) -> JsonObject | None:
        """Bring what we know of the object up to date."""
        try:
            return await self.observer.body(
                desired.resource, desired.namespace, desired.name, client=context.client
            )
        except (ApiError, ConnectionLost) as error:
            raise self._refused(desired, error) from error

    def _refused(self, desired: Desired, error: Refusal) -> FatalTaskError | TransientTaskError:
        said = without_secrets(error, desired.target)
        text = f"failed to apply {desired.manifest}: {told(error, desired.target)}"
        if isinstance(said, Conflict) and said.field_managers:
            fields = "; ".join(f"{m}: {', '.join(f)}" for m, f in said.field_managers.items())
            text = f"failed to apply {desired.manifest}: these fields belong to other managers: "
            text += fields
        elif isinstance(said, ApiError):
            causes = [(cause.field, cause.message) for cause in said.causes]
            hint = advice(desired.resource.kind, said.status, said.message, causes)
            text = f"{text}; {hint}" if hint else text
        self.metrics.applied.labels("refused" if stays_refused(error) else "failed").inc()
        return task_error("TaskApplyError", text, error)


def _some(names: tuple[str, ...]) -> str:
    """Return the first of some names, and how many others there are."""
    named, others = ", ".join(names[:_NAMED]), len(names) - _NAMED
    return f"{named} and {others} others" if others > 0 else named


def _check_room(desired: Desired, known: JsonObject, target: JsonObject) -> None:
    """Refuse for now to share an object whose annotations have no room for another sharer.

    Raises:
        TransientTaskError: it has none; a sharer that goes makes room.
    """
    sharing = len(sharers(known["metadata"]))
    if not sharing or has_room(target, known):
        return
    text = (
        f"{desired.manifest} is shared by {sharing} Instances, and its annotations, which name "
        "them, may have 256 KiB: it is applied once one of them is deleted; else give it another "
        "name in some of them"
    )
    raise TransientTaskError("TaskApplyError", text)


def _with_metadata(target: JsonObject, **metadata: str) -> JsonObject:
    return {**target, "metadata": {**target["metadata"], **metadata}}


def _holds_data(desired: Desired) -> bool:
    return holds_data(desired.resource.group, desired.resource.kind)


def _without_owner(desired: Desired, context: RunContext) -> Desired:
    return replace(desired, target=without_owner(desired.target, context.instance.metadata.uid))


def _fate(adopted: Desired) -> str:
    """Return what becomes of an adopted object when its Instance is deleted."""
    resource = adopted.resource
    if resource.namespaced:
        stays = _holds_data(adopted)
        return "stays when the Instance is deleted" if stays else "is deleted with the Instance"
    if goes_with_instance(resource.group, resource.kind, adopted.target["metadata"]):
        return "is deleted with the last Instance that shares it"
    return "stays when the Instance is deleted"
