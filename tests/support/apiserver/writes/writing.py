"""Creates and changes objects: what a POST, a PUT and a PATCH do."""

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kubeio.types import Json, JsonObject
from tests.support.apiserver import status
from tests.support.apiserver.status import Cause, StatusError
from tests.support.apiserver.storage import Storage
from tests.support.apiserver.types import structural
from tests.support.apiserver.types.kinds import CRD, EVENT, NAMESPACE, POD, Kind
from tests.support.apiserver.writes import managed, metadata
from tests.support.apiserver.writes.admission import Admission, Review
from tests.support.apiserver.writes.managed import Manager, Write
from tests.support.apiserver.writes.patches import (
    PatchFailed,
    PatchUnreadable,
    apply_json_patch,
    apply_merge_patch,
)

_TERMINATING = "NamespaceTerminating"


@dataclass(frozen=True, slots=True)
class Target:
    """What a write is about."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def about(self) -> status.Names:
        return self.kind.about(self.name)


@dataclass(frozen=True, slots=True)
class Options:
    """How a write is done, and by whom."""

    manager: str = ""
    user: str = ""
    dry_run: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """An object as it is stored after a write."""

    obj: JsonObject
    created: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Writer:
    """Writes objects.

    Attributes:
        now: Returns the time in RFC 3339.
        rng: Source of uids and generated names.
    """

    storage: Storage
    admission: Admission
    now: Callable[[], str]
    rng: random.Random

    def find(self, target: Target) -> JsonObject:
        """Return what is stored.

        Raises:
            StatusError: 404.
        """
        found = self.storage.table(target.kind.storage).objects.get(target.key)
        if found is None:
            raise status.not_found(target.about)
        return found

    # Create

    def create(self, target: Target, body: JsonObject, options: Options) -> Written:
        """Create an object, as a POST does."""
        kind = target.kind
        obj = self._named(_identified(kind, body), target)
        if obj["metadata"].get("resourceVersion"):
            text = "resourceVersion should not be set on objects to be created"
            raise StatusError(500, "", text)
        return self._create(replace(target, name=obj["metadata"]["name"]), obj, options, "Update")

    def _named(self, obj: JsonObject, target: Target) -> JsonObject:
        given = obj["metadata"]
        if target.kind.namespaced and given.get("namespace", target.namespace) != target.namespace:
            text = "the namespace of the provided object does not match the namespace sent on the "
            raise status.bad_request(f"{text}request")
        prefix = given.get("generateName")
        name = given.get("name") or ""
        if not name and prefix:
            name = prefix + "".join(self.rng.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
        namespace = {"namespace": target.namespace} if target.kind.namespaced else {}
        return {**obj, "metadata": {**given, "name": name, **namespace}}

    def _create(self, target: Target, obj: JsonObject, options: Options, operation: str) -> Written:
        kind = target.kind
        self._check_namespace(target)
        # Whose fields are whose is decided before admission: what a webhook adds is nobody's.
        config, obj = obj, _completed(kind, obj)
        owners = self._first_owners(target, config, obj, options, operation)
        uid = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        obj = {**obj, "metadata": metadata.initials(kind, obj, uid, self.now())}
        obj = _initial(kind, obj)
        review = Review("CREATE", kind, obj, None, options.user, dry_run=options.dry_run)
        obj, warnings = self._judged(review)
        obj = _with_owners(obj, owners)
        if target.key in self.storage.table(kind.storage).objects:
            known = self.find(target)["metadata"]
            raise status.already_exists(target.about, deleted="deletionTimestamp" in known)
        if not options.dry_run:
            obj = self.storage.put(kind.storage, obj)
        return Written(obj, created=True, warnings=warnings)

    def _first_owners(
        self,
        target: Target,
        config: JsonObject,
        obj: JsonObject,
        options: Options,
        operation: str,
    ) -> managed.Managed:
        write = self._write(target, options, operation)
        if operation == "Apply":
            return write.applied({}, target.kind.empty, config, force=True)[1]
        return write.updated({}, target.kind.empty, obj)

    def _check_namespace(self, target: Target) -> None:
        if not target.kind.namespaced:
            return
        found = self.storage.table(NAMESPACE.storage).objects.get(("", target.namespace))
        if found is None:
            raise status.not_found(NAMESPACE.about(target.namespace))
        if found["metadata"].get("deletionTimestamp"):
            cause = Cause(
                _TERMINATING,
                f"namespace {target.namespace} is being terminated",
                "metadata.namespace",
            )
            text = "unable to create new content in namespace {} because it is being terminated"
            raise status.forbidden(target.about, text.format(target.namespace), cause)

    def _judged(
        self, review: Review, *, versioned: bool = True
    ) -> tuple[JsonObject, tuple[str, ...]]:
        kind, given = review.kind, review.obj
        obj = self.admission.mutate(review)
        if not versioned and not kind.unconditional:
            text = "Invalid value: 0: must be specified for an update"
            cause = Cause("FieldValueInvalid", text, "metadata.resourceVersion")
            raise status.invalid(kind.plural, kind.group, obj["metadata"]["name"], cause)
        if obj is not given:
            obj = _completed(kind, obj)
        causes = [*metadata.name_problems(kind, obj["metadata"])]
        if kind.custom:
            causes += structural.problems(obj, review.old or {}, kind.schema)
        if causes:
            name = obj["metadata"].get("name") or ""
            raise status.invalid(kind.kind, kind.group, name, *causes)
        self.admission.validate(replace(review, obj=obj))
        return obj, tuple(review.warnings)

    # Change

    def replace(self, target: Target, body: JsonObject, options: Options) -> Written:
        """Put a whole object, as a PUT does."""
        obj = _identified(target.kind, body)
        name = obj["metadata"].get("name")
        if name and name != target.name:
            text = f"the name of the object ({name}) does not match the name on the URL"
            raise status.bad_request(f"{text} ({target.name})")
        obj = self._named({**obj, "metadata": {**obj["metadata"], "name": target.name}}, target)
        old = self.storage.table(target.kind.storage).objects.get(target.key)
        if old is None and target.kind.create_on_update:
            return self._create(target, obj, options, "Update")
        old = self.find(target)
        uid = obj["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            raise _other_uid(target, uid, old)
        return self._update(target, old, obj, options, whole=True)

    def merge_patch(self, target: Target, patch: JsonObject, options: Options) -> Written:
        """Apply an RFC 7386 patch."""
        old = self.find(target)
        if not isinstance(patch, dict):
            raise status.bad_request("the merge patch is no object")
        return self._update(target, old, apply_merge_patch(old, patch), options)

    def json_patch(
        self, target: Target, operations: Sequence[JsonObject], options: Options
    ) -> Written:
        """Apply an RFC 6902 patch, all of it or nothing."""
        old = self.find(target)
        try:
            new = apply_json_patch(old, operations)
        except PatchUnreadable:
            raise status.bad_request("the patch is no list of operations") from None
        except PatchFailed as failed:
            text = "the server rejected our request due to an error in our request"
            raise StatusError(422, "Invalid", text) from failed
        return self._update(target, old, new, options)

    def apply(self, target: Target, body: JsonObject, options: Options) -> Written:
        """Apply an object on the server side; creates it where there is none."""
        obj = self._named(_identified(target.kind, body), target)
        if obj["metadata"].get("managedFields"):
            raise status.bad_request("metadata.managedFields must be nil")
        old = self.storage.table(target.kind.storage).objects.get(target.key)
        if old is not None:
            return self._apply(target, old, obj, options)
        if target.subresource:
            raise status.not_found(target.about)
        uid = obj["metadata"].get("uid")
        if uid:
            text = f"uid mismatch: the provided object specified uid {uid}, and no existing object "
            raise status.conflict(target.about, f"{text}was found")
        return self._create(target, obj, options, "Apply")

    def _apply(self, target: Target, old: JsonObject, obj: JsonObject, options: Options) -> Written:
        version = obj["metadata"].get("resourceVersion")
        write = self._write(target, options, "Apply")
        owners = managed.read(old["metadata"])
        new, owners = write.applied(owners, old, obj, force=options.force)
        checked = {**new["metadata"], "resourceVersion": version}
        return self._update(target, old, {**new, "metadata": checked}, options, owners)

    def _update(
        self,
        target: Target,
        old: JsonObject,
        new: JsonObject,
        options: Options,
        owners: managed.Managed | None = None,
        *,
        whole: bool = False,
    ) -> Written:
        given = new["metadata"]
        version = given.get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise status.modified(target.about)
        new = _prepared(target, old, _completed(target.kind, new))
        if owners is None:
            owners = self._owners(target, old, new, given.get("managedFields"), options)
        review = Review(
            "UPDATE", target.kind, new, old, options.user, target.subresource, options.dry_run
        )
        new, warnings = self._judged(review, versioned=bool(version) or not whole)
        causes = [*metadata.update_problems(old, new, given)]
        if causes:
            # The server checks metadata twice, and dedups the message alone.
            kind = target.kind
            raise status.invalid(kind.kind, kind.group, target.name, *causes, *causes)
        if metadata.counts(target.kind, old, new):
            generation = old["metadata"].get("generation", 0) + 1
            new = {**new, "metadata": {**new["metadata"], "generation": generation}}
        new = _with_owners(new, owners)
        return Written(self.store(target.kind, old, new, options), warnings=warnings)

    def _owners(
        self, target: Target, old: JsonObject, new: JsonObject, entries: Json, options: Options
    ) -> managed.Managed:
        if managed.is_reset(entries):
            return {}
        known = (
            {"managedFields": entries} if entries and not target.subresource else old["metadata"]
        )
        return self._write(target, options, "Update").updated(managed.read(known), old, new)

    def store(self, kind: Kind, old: JsonObject, new: JsonObject, options: Options) -> JsonObject:
        """Store a change; nothing is written if there is none.

        An object being deleted goes with its last finalizer.
        """
        version = {"resourceVersion": old["metadata"]["resourceVersion"]}
        new = {**new, "metadata": new["metadata"] | version}
        if options.dry_run:
            return new
        if is_finished(kind, new):
            # The last update is never stored: watches see the object as it was before.
            self.storage.remove(kind.storage, old)
            return new
        return old if new == old else self.storage.put(kind.storage, new)

    def _write(self, target: Target, options: Options, operation: str) -> Write:
        kind = target.kind
        manager = Manager(options.manager, operation, kind.api_version, target.subresource)
        return Write(manager, kind.schema, kind.has_status, self.now())


def is_finished(kind: Kind, obj: JsonObject) -> bool:
    """Return whether an object being deleted has nothing left that it waits for."""
    held = obj["metadata"].get("finalizers")
    if kind.storage == NAMESPACE.storage:
        held = held or obj["spec"].get("finalizers")
    return bool(obj["metadata"].get("deletionTimestamp")) and not held


def _identified(kind: Kind, body: JsonObject) -> JsonObject:
    """Return an object with the kind of its path."""
    if not isinstance(body, dict):
        raise status.bad_request("the body is no object")
    given = body.get("kind")
    if kind.custom and not given:
        raise status.bad_request("Object 'Kind' is missing")
    api_version = body.get("apiVersion")
    if api_version and api_version != kind.api_version:
        text = (
            f"the API version in the data ({api_version}) does not match the expected API version"
        )
        raise status.bad_request(f"{text} ({kind.api_version})")
    if given and given != kind.kind:
        text = f"the kind in the data ({given}) does not match the expected kind ({kind.kind})"
        raise status.bad_request(text)
    found = {**body, "apiVersion": kind.api_version, "kind": kind.kind}
    return {**found, "metadata": {**(body.get("metadata") or {})}}


def _completed(kind: Kind, obj: JsonObject) -> JsonObject:
    if kind.storage == NAMESPACE.storage:
        given = obj["metadata"]
        labels = {**given.get("labels", {}), "kubernetes.io/metadata.name": given["name"]}
        return {**obj, "metadata": {**given, "labels": labels}}
    return structural.completed(obj, kind.schema) if kind.custom else obj


def _initial(kind: Kind, obj: JsonObject) -> JsonObject:
    """Return a new object with what its kind begins with."""
    obj = {**obj, "metadata": metadata.without_empty(obj["metadata"])}
    if kind.has_status:
        obj.pop("status", None)
    if kind.storage == NAMESPACE.storage:
        obj["spec"] = {**(obj.get("spec") or {}), "finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}
    elif kind.storage == POD.storage:
        obj["status"] = {"phase": "Pending"}
    elif kind.storage == EVENT.storage:
        obj = _STARTED_EVENT | obj
    elif kind.storage == CRD.storage:
        obj["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    elif kind.has_status and not kind.custom:
        obj["status"] = {}
    return obj


_STARTED_EVENT: JsonObject = {
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def _prepared(target: Target, old: JsonObject, new: JsonObject) -> JsonObject:
    """Return the part of a new object that the request may change, put into the old one."""
    kind = target.kind
    if target.subresource:
        found = dict(old)
        _take(found, new, target.subresource)
        found["metadata"] = dict(old["metadata"])
        return found
    found = {**new, "metadata": metadata.without_empty(metadata.kept(old, new))}
    if kind.has_status:
        _take(found, old, "status")
    if kind.storage == NAMESPACE.storage:
        found["spec"] = old["spec"]
    return found


def _take(found: JsonObject, source: JsonObject, part: str) -> None:
    found.pop(part, None)
    if part in source:
        found[part] = source[part]


def _with_owners(obj: JsonObject, owners: managed.Managed) -> JsonObject:
    entries = managed.write(owners)
    rest = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": rest | ({"managedFields": entries} if entries else {})}


def _other_uid(target: Target, expected: str, old: JsonObject) -> StatusError:
    """Return the refusal of a PUT that means another object."""
    group = f"{target.kind.group}/" if target.kind.custom else ""
    key = f"/registry/{group}{target.kind.plural}/{'/'.join(filter(None, target.key))}"
    found = old["metadata"]["uid"]
    return status.conflict(
        target.about,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {expected}, UID in object "
        f"meta: {found}",
    )
