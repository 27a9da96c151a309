"""Server-side apply of one object.

    cached? ── no ──> create it ── 409 ──> read it ──┐
      └── yes ──> who owns it? <───────────────────┘
                  └──> migrate its managed fields ──> apply it at its resourceVersion

An existing object is applied with its uid and resourceVersion, so that a delayed request never
overwrites a later change, nor creates the object again after its deletion. See `ownership` for the
rules. An object that is not cached is applied with a resourceVersion that no object has: the API
server creates it, or answers 409 if it exists. Without that, it would let one Instance overwrite
what another created, since all Instances share one field manager. So nothing is read before a
creation.

A kind that is never watched (strict mode) has no cache. Its objects are created in the same way, as
if a cache lacked them, except those that this process knows to exist: they are read first. Whatever
exists is applied on what was read with the task's own identity.

An object that is only created (`kudo.objects.policies`) is always read first, so that nothing
is sent for one that exists, but for the marks that tell whose it is.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kubeio import jsonpatch
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, Conflict, ConnectionLost, Invalid, NotFound, ServerError
from kubeio.preconditions import ObjectChanged, unchanged
from kudo.api import JsonObject, names
from kudo.api.task_kinds import FatalTaskError, TaskError, TransientTaskError
from kudo.objects import typed_patch
from kudo.objects.api_errors import advice
from kudo.objects.keyed_items import KeyedItem, is_edit, items_beside, with_items_taken
from kudo.objects.managed_fields import (
    entries_of,
    last_applied,
    migrated,
    needs_migration,
    with_entry_of,
)
from kudo.objects.policies import is_retained
from kudo.objects.sharing import Claim, as_applied_last, differs, lists_all
from kudo_reconciler.common.concurrency import KeyedLocks
from kudo_reconciler.common.errors import (
    Refusal,
    Superseded,
    error_text,
    is_permanent,
    task_error,
    without_secrets,
)
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.cached_objects import ExistingObjects, is_whole, written_by
from kudo_reconciler.objects.observer import ObjectWrite, Observer
from kudo_reconciler.objects.ownership import (
    Desired,
    Ownership,
    former,
    is_owned,
    keeps_data,
    mark_changes,
    not_owned,
    tell_adopted,
    tell_taken_over,
)
from kudo_reconciler.objects.run_context import ObjectKey, RunContext, check_may_write

log = logging.getLogger(__name__)

_NOTHING_STORED = "1"
"""A resourceVersion of no object: etcd counts from 1, and its first write makes it 2."""
_ATTEMPTS = 5
_UNKNOWN_FIELDS = 30
_NAMED = 3
"""Number of Instances that share an object and are named in an event."""


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies objects on behalf of an Instance.

    Every request for an object is sent with `RunContext.client`, and so with the identity that the
    task acts as.

    Attributes:
        discovery: Uses the reconciler's own identity: no tenant needs permission to know which
            kinds are served.
        existing: Objects of kinds that are never watched.
    """

    discovery: Discovery
    observer: Observer
    ownership: Ownership
    metrics: Metrics
    locks: KeyedLocks[ObjectKey] = field(default_factory=KeyedLocks)
    existing: ExistingObjects = field(default_factory=ExistingObjects)

    async def apply(self, desired: Desired, context: RunContext) -> JsonObject:
        """Apply an enriched object and return it as stored by the API server.

        Raises:
            Superseded: the run was replaced meanwhile.
            FatalTaskError: the API server rejects the object for good.
            TransientTaskError: a retry may succeed.
        """
        # One write to an object at a time: steps run in parallel, and two of them may name the same
        # one. The second has to see what the first has made of it.
        async with self.locks.of(desired.key):
            with self.observer.writing(*desired.key, key_of(context.instance)) as write:
                return await self._apply(desired, context, write)

    async def existing_object(self, desired: Desired, context: RunContext) -> JsonObject | None:
        """Return an object that may have been applied before; None if that cannot be known.

        From the cache it is what `cached_objects.reduced` keeps.
        """
        if self.observer.lacks(*desired.key):
            return None
        try:
            existing = await self.observer.current(
                desired.resource, desired.namespace, desired.name, client=context.client
            )
        except (ApiError, ConnectionLost):
            # It is applied then, which reports what is wrong.
            return None
        self._remember(desired, existing)
        return existing

    async def _apply(self, desired: Desired, context: RunContext, write: ObjectWrite) -> JsonObject:
        existing = await self._known(desired, context)
        for _ in range(_ATTEMPTS):
            self._remember(desired, existing)
            if existing is not None:
                context.seen.add(desired.key)
            try:
                applied = await self._apply_known_fields(desired, existing, context)
            except Conflict as conflict:
                # It changed since it was read, exists already, or a field is another manager's.
                existing = await self._after_conflict(desired, conflict, context)
            except NotFound as error:
                if existing is None:
                    # Its namespace, or its kind.
                    raise self._task_error(desired, error, context) from error
                existing = await self._read_again(desired, context)
            except Invalid as error:
                beside = [] if existing is None else await self._beside(desired, error, context)
                raise self._task_error(desired, error, context, beside=beside) from error
            except (ApiError, ConnectionLost) as error:
                raise self._task_error(desired, error, context) from error
            else:
                context.seen.add(desired.key)
                self._remember(desired, applied)
                if applied is not existing:
                    self.metrics.applied.labels("applied").inc()
                    write.answered(applied, after=existing)
                return applied
        text = f"{desired.manifest} keeps changing while it is applied"
        raise TransientTaskError("TaskApplyError", text)

    async def _known(self, desired: Desired, context: RunContext) -> JsonObject | None:
        """Return the object from the cache or the API server; None to create it."""
        if desired.only_created:
            return await self._read_again(desired, context)
        if self.observer.lacks(*desired.key):
            # Most likely it is new. If it exists without our label, the creation is answered with
            # 409.
            return None
        if not self.observer.may_watch(desired.resource) and desired.key not in self.existing:
            return None
        try:
            return await self.observer.current(
                desired.resource, desired.namespace, desired.name, client=context.client
            )
        except (ApiError, ConnectionLost) as error:
            raise self._task_error(desired, error, context) from error

    def _remember(self, desired: Desired, existing: JsonObject | None) -> None:
        """Remember whether an object exists that no cache tells of."""
        if self.observer.may_watch(desired.resource):
            return
        if existing is None:
            self.existing.discard(desired.key)
        else:
            self.existing.add(desired.key)

    async def _apply_known_fields(
        self, desired: Desired, existing: JsonObject | None, context: RunContext
    ) -> JsonObject:
        """Apply an object without the fields that its kind does not have.

        The API server may report one field at a time.
        """
        for _ in range(_UNKNOWN_FIELDS):
            try:
                return await self._attempt(desired, existing, context)
            except ServerError as error:
                mended = typed_patch.mended(desired.target, error.message)
                if mended is None:
                    raise
                for note in mended.notes:
                    context.tell("Warning", note.reason, f"{desired.manifest}: {note.text}")
                desired = replace(desired, target=mended.target)
        text = (
            f"{desired.manifest} has more than {_UNKNOWN_FIELDS} fields that its kind does not have"
        )
        raise FatalTaskError("TaskApplyError", text)

    async def _attempt(
        self, desired: Desired, existing: JsonObject | None, context: RunContext
    ) -> JsonObject:
        if existing is None:
            return await self._create(desired, context)
        claim, others = await self.ownership.claim(desired, existing, context.instance)
        if desired.resource.kind == "Job" and existing["metadata"].get("deletionTimestamp"):
            # The status of the old Job would be taken for that of the new one.
            text = f"{desired.manifest} is being deleted: it is applied after its deletion"
            raise TransientTaskError("TaskApplyError", text)
        if desired.only_created:
            return await self._leave(desired, existing, claim, context)
        if claim is Claim.FOREIGN:
            # Without force: who manages a field of it with another value keeps the object.
            if keeps_data(desired):
                desired = not_owned(desired, context.instance)
            applied = await self._send(desired, existing, context, force=False)
            tell_adopted(desired, context)
            return applied
        before = former(desired, existing, context.instance)
        existing = await self._migrate_fields(desired, existing, context)
        if claim is Claim.KEPT:
            desired = not_owned(desired, context.instance)
        if claim is Claim.SHARED:
            return await self._share(desired, existing, others, context)
        applied = await self._send(desired, existing, context, force=True)
        tell_taken_over(desired, before, context)
        return await self._without_our_reference(desired, applied, context)

    async def _without_our_reference(
        self, desired: Desired, applied: JsonObject, context: RunContext
    ) -> JsonObject:
        """Remove the owner reference to the Instance that an object has kept though it is retained.

        An apply leaves it if another field manager has written it too, such as a restore of a
        backup. The garbage collector would delete the object with the Instance.
        """
        uid, metadata = context.instance.metadata.uid, applied["metadata"]
        if not is_retained(desired.target["metadata"]) or not is_owned(applied, uid):
            return applied
        others = [owner for owner in metadata["ownerReferences"] if owner.get("uid") != uid]
        change = jsonpatch.replace("/metadata/ownerReferences", others)
        return await self._patch(desired, applied, context, change)

    async def _create(self, desired: Desired, context: RunContext) -> JsonObject:
        """Create an object; the API server answers 409 if it exists.

        It must not exist: an object that somebody else created meanwhile would get our owner
        reference, and of two Instances that create a cluster-scoped object only one would be listed
        in its annotation.
        """
        if desired.key in context.seen:
            await self._check_instance(context)
        target = await self.ownership.shared(desired, None, context.instance)
        # An apply, not a POST: `managedFields` then records an apply, and fields that the kind does
        # not have are reported, not dropped.
        target = _with_metadata(target, resourceVersion=_NOTHING_STORED)
        return await self._apply_now(desired, target, context, force=False)

    async def _check_instance(self, context: RunContext) -> None:
        """Read the Instance before an object is created again that existed in this run.

        The object may have been garbage-collected with the Instance, whose deletion is not in the
        cache yet: a Job would run a second time for nobody.

        Raises:
            Superseded: the Instance is deleted, or being deleted.
        """
        now = await self.ownership.instances.live(key_of(context.instance))
        metadata = context.instance.metadata
        if (
            now is None
            or now.metadata.uid != metadata.uid
            or now.metadata.deleting != metadata.deleting
        ):
            raise Superseded

    async def _leave(
        self, desired: Desired, existing: JsonObject, claim: Claim, context: RunContext
    ) -> JsonObject:
        """Leave an object as it is, but for the marks that tell whose it is.

        One that belongs to nobody is used, and stays whose it is: it is not even marked.
        """
        if claim is Claim.FOREIGN:
            return existing
        if claim is Claim.KEPT:
            desired = not_owned(desired, context.instance)
        changes = mark_changes(existing, desired.target, context.instance.metadata.uid)
        if not changes:
            return existing
        marked = await self._patch(desired, existing, context, *changes)
        tell_taken_over(desired, former(desired, existing, context.instance), context)
        return marked

    async def _send(
        self,
        desired: Desired,
        existing: JsonObject,
        context: RunContext,
        *,
        force: bool,
        dry_run: bool = False,
    ) -> JsonObject:
        """Apply an object on exactly the state that was read."""
        target = await self.ownership.shared(desired, existing, context.instance)
        seen = {key: existing["metadata"][key] for key in ("uid", "resourceVersion")}
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
        check_may_write(context)
        return await context.client.apply(
            desired.resource,
            target,
            field_manager=names.FIELD_MANAGER,
            force=force,
            dry_run=dry_run,
        )

    async def _migrate_fields(
        self, desired: Desired, existing: JsonObject, context: RunContext
    ) -> JsonObject:
        """Make fields ours that an apply is to remove.

        Those are the fields that we wrote by an update, or KUDO 0.19, and items of lists whose keys
        somebody has edited by hand.
        """
        annotations = existing["metadata"].get("annotations") or {}
        writers = written_by(existing)
        if not needs_migration(writers, annotations) and not any(map(is_edit, writers)):
            return existing
        live = await context.client.get(desired.resource, desired.name, namespace=desired.namespace)
        if live["metadata"]["uid"] != existing["metadata"]["uid"]:
            # Whose it is was decided for the other one.
            raise Conflict("the object was replaced meanwhile", status=409)
        # The next writes build on this state, whose event the cache may not have received yet.
        self.observer.read(desired.resource, live)
        entries = migrated(live["metadata"], desired.resource.api_version)
        if entries is None:
            entries = await self._from_last_applied(desired, live, context)
        entries = self._without_edits(desired, live, entries, context) or entries
        if entries is None:
            return live
        return await self._patch(
            desired, live, context, jsonpatch.add("/metadata/managedFields", entries)
        )

    def _without_edits(
        self,
        desired: Desired,
        live: JsonObject,
        entries: list[JsonObject] | None,
        context: RunContext,
    ) -> list[JsonObject] | None:
        """Return field owners by which this apply removes what edits by hand put into our lists."""
        items = [item for item in items_beside(live, desired.target) if item.edited]
        owners = entries_of(live["metadata"]) if entries is None else entries
        taken = with_items_taken(owners, items, desired.resource.api_version)
        if taken is not None:
            named = ", ".join(f"{item} of {item.manager}" for item in items[:_NAMED])
            more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
            text = f"{desired.manifest}: not in the template, and removed: {named}{more}"
            context.tell("Warning", "ManualEditReverted", text)
        return taken

    async def _beside(
        self, desired: Desired, error: Invalid, context: RunContext
    ) -> list[KeyedItem]:
        """Return the items of others in lists in which the API server found something wrong."""
        try:
            live = await self._read_again(desired, context)
        except TaskError:
            # The first error is the one to report.
            return []
        items = [] if live is None else items_beside(live, desired.target)
        fields = [cause.field for cause in error.causes]
        return [item for item in items if any(field.startswith(item.field) for field in fields)]

    async def _from_last_applied(
        self, desired: Desired, live: JsonObject, context: RunContext
    ) -> list[JsonObject] | None:
        """Find out with a dry run which fields KUDO 0.19 applied.

        It recorded them in an annotation. Where `managedFields` lacks its entry, since the object
        is older than that or was written in an API version that is no longer served, there is no
        other source.
        """
        applied = last_applied(live)
        if applied is None:
            return None
        try:
            planned = await self._send(
                replace(desired, target=applied), live, context, force=True, dry_run=True
            )
        except ApiError as error:
            # What was applied then may be invalid today. Fields that this apply omits are kept in
            # that case.
            secret = context.is_confidential(desired.manifest)
            why = error_text(error, applied, confidential=secret)
            log.info(
                "managed fields not migrated", extra={"object": str(desired.manifest), "why": why}
            )
            return None
        return with_entry_of(live["metadata"], planned["metadata"])

    async def _share(
        self, desired: Desired, existing: JsonObject, others: tuple[str, ...], context: RunContext
    ) -> JsonObject:
        """Apply an object that other Instances also apply.

        If the content is the same as theirs, the write adds a sharer and changes nothing else.
        """
        live = existing
        if not is_whole(live):
            live = await context.client.get(desired.resource, desired.name)
            self.observer.read(desired.resource, live)
            if live["metadata"]["resourceVersion"] != existing["metadata"]["resourceVersion"]:
                # The ownership was decided by the cached state, which is outdated.
                raise ObjectChanged
        same = replace(desired, target=as_applied_last(desired.target, live))
        applied = await self._send(same, live, context, force=True)
        if not differs(applied, live):
            return applied
        text = (
            f"{desired.manifest} was applied by {_some(others, live)} with other content: "
            "the content of this template is applied now"
        )
        context.tell("Warning", "ObjectShared", text)
        return await self._send(desired, applied, context, force=True)

    async def _patch(
        self, desired: Desired, existing: JsonObject, context: RunContext, *changes: JsonObject
    ) -> JsonObject:
        """Change an object if it is still as it was read."""
        version = existing["metadata"]["resourceVersion"]
        check_may_write(context)
        async with unchanged(version, lambda: self._read_again(desired, context)):
            return await context.client.json_patch(
                desired.resource,
                desired.name,
                [jsonpatch.test("/metadata/resourceVersion", version), *changes],
                namespace=desired.namespace,
                field_manager=names.FIELD_MANAGER,
            )

    async def _after_conflict(
        self, desired: Desired, conflict: Conflict, context: RunContext
    ) -> JsonObject | None:
        """Read the object again; fail if its fields belong to another field manager."""
        live = await self._read_again(desired, context)
        if not conflict.field_managers:
            return live
        if live is not None:
            claim, _ = await self.ownership.claim(desired, live, context.instance)
        if live is None or claim is Claim.FOREIGN:
            raise self._task_error(desired, conflict, context)
        return live

    async def _read_again(self, desired: Desired, context: RunContext) -> JsonObject | None:
        """Read the object from the API server and update the cache."""
        try:
            return await self.observer.body(
                desired.resource, desired.namespace, desired.name, client=context.client
            )
        except (ApiError, ConnectionLost) as error:
            raise self._task_error(desired, error, context) from error

    def _task_error(
        self,
        desired: Desired,
        error: Refusal,
        context: RunContext,
        *,
        beside: Sequence[KeyedItem] = (),
    ) -> FatalTaskError | TransientTaskError:
        if isinstance(error, NotFound):
            # The namespace or the kind does not exist, or no longer.
            self.discovery.invalidate(desired.resource.api_version)
        secret = context.is_confidential(desired.manifest)
        said = without_secrets(error, desired.target, confidential=secret)
        why = error_text(error, desired.target, confidential=secret)
        text = f"failed to apply {desired.manifest}: {why}"
        if isinstance(said, Conflict) and said.field_managers:
            fields = "; ".join(f"{m}: {', '.join(f)}" for m, f in said.field_managers.items())
            text = f"failed to apply {desired.manifest}: these fields belong to other managers: "
            text += fields
        elif isinstance(said, ApiError):
            causes = [(cause.field, cause.message) for cause in said.causes]
            acts_as = context.client.identity
            account = "" if acts_as is None else acts_as.user
            kind = desired.resource.kind
            hint = advice(kind, said.status, said.message, causes, account=account)
            text = f"{text}; {hint}" if hint else text
            if beside:
                text = f"{text}; {_in_the_way(desired, beside)}"
        self.metrics.applied.labels("refused" if is_permanent(error) else "failed").inc()
        return task_error("TaskApplyError", text, error)


def _some(others: tuple[str, ...], shared: JsonObject) -> str:
    """Return the first names, if there are any, and the number of the others if it is known."""
    if not any(others):
        return "another Instance"
    named, left = f"Instance {', '.join(others[:_NAMED])}", len(others) - _NAMED
    if left > 0 and not lists_all(shared["metadata"]):
        return f"{named} and others"
    return f"{named} and {left} others" if left > 0 else named


def _in_the_way(desired: Desired, items: Sequence[KeyedItem]) -> str:
    """Say which items of others may be wrong beside ours, and how to remove them."""
    named = ", ".join(f'{item} of field manager "{item.manager}"' for item in items[:_NAMED])
    namespace = "" if desired.namespace is None else f" -n {desired.namespace}"
    command = f"kubectl edit {desired.resource.name} {desired.name}{namespace}"
    return f"beside those of the template it has {named}: remove them with '{command}'"


def _with_metadata(target: JsonObject, **metadata: str) -> JsonObject:
    return {**target, "metadata": {**target["metadata"], **metadata}}
