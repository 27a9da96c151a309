"""Deletes objects: preconditions, finalizers, propagation."""

from collections.abc import Mapping
from dataclasses import dataclass

from kubeio.types import Json, JsonObject
from tests.support.apiserver import status
from tests.support.apiserver.types.kinds import NAMESPACE, Kind
from tests.support.apiserver.writes.writing import Options, Target, Writer, is_finished

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_FINALIZERS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


@dataclass(frozen=True, slots=True)
class Deleter:
    """Deletes objects, at once or as soon as nothing holds them."""

    writer: Writer

    def delete(self, target: Target, wishes: Mapping[str, Json], options: Options) -> JsonObject:
        """Delete an object, as DeleteOptions say.

        Returns:
            The object, if something holds it; else a Status.

        Raises:
            StatusError: 404; 409, a precondition does not hold.
        """
        kind = target.kind
        old = self.writer.find(target)
        _check(target, wishes.get("preconditions") or {}, old)
        marked = self._marked(kind, old, wishes)
        if not is_finished(kind, marked):
            return self.writer.store(kind, old, marked, options)
        if not options.dry_run:
            self.writer.storage.remove(kind.storage, old)
        return status.success(target.about, old["metadata"]["uid"])

    def _marked(self, kind: Kind, old: JsonObject, wishes: Mapping[str, Json]) -> JsonObject:
        """Return an object with the time of its deletion, and what it has to wait for."""
        metadata = dict(old["metadata"])
        finalizers = _finalizers(kind, metadata.get("finalizers") or [], wishes)
        metadata.pop("finalizers", None)
        if finalizers:
            metadata["finalizers"] = finalizers
        if metadata.get("deletionTimestamp"):
            return {**old, "metadata": metadata}
        metadata |= {"deletionTimestamp": self.writer.now(), "deletionGracePeriodSeconds": 0}
        if metadata.get("generation"):
            metadata["generation"] += 1
        marked = {**old, "metadata": metadata}
        if kind.storage == NAMESPACE.storage:
            del metadata["deletionGracePeriodSeconds"]
            marked["status"] = {**old.get("status", {}), "phase": "Terminating"}
        return marked


def _check(target: Target, expected: Mapping[str, str], old: JsonObject) -> None:
    metadata = old["metadata"]
    if expected.get("uid", metadata["uid"]) != metadata["uid"]:
        why = (
            f"the UID in the precondition ({expected['uid']}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise status.conflict(_kind_of(target), why)
    version = expected.get("resourceVersion", metadata["resourceVersion"])
    if version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). The object might have "
            "been modified"
        )
        raise status.conflict(_kind_of(target), why)


def _kind_of(target: Target) -> status.Names:
    """Return what these refusals name: the kind instead of the resource."""
    return status.Names(target.kind.group, target.kind.kind, target.name)


def _finalizers(kind: Kind, before: list[str], wishes: Mapping[str, Json]) -> list[str]:
    """Return the finalizers that a deletion leaves: those of another propagation go."""
    policy = wishes.get("propagationPolicy")
    if policy is None:
        if {FOREGROUND, ORPHAN}.intersection(before):
            return before
        policy = "Orphan" if kind.orphans else "Background"
    rest = [one for one in before if one not in (FOREGROUND, ORPHAN)]
    expected = _FINALIZERS.get(policy)
    return [*rest, expected] if expected else rest
