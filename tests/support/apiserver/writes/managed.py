"""managedFields: which manager owns which fields, after updates and after server-side applies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubeio.types import Json, JsonObject
from tests.support.apiserver.status import Cause, StatusError
from tests.support.apiserver.types.schema import Schema
from tests.support.apiserver.writes import fields
from tests.support.apiserver.writes.fields import NOTHING, Comparison, Paths

_UNMANAGED = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    }
)


class Manager(NamedTuple):
    """Who writes, and how."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """What a manager owns, since when."""

    paths: Paths
    time: str


Managed = Mapping[Manager, Share]


def read(metadata: JsonObject) -> dict[Manager, Share]:
    """Return the owners that an object's metadata names."""
    return {_manager(entry): _share(entry) for entry in metadata.get("managedFields") or ()}


def _manager(entry: JsonObject) -> Manager:
    return Manager(
        entry.get("manager", ""),
        entry.get("operation", ""),
        entry.get("apiVersion", ""),
        entry.get("subresource", ""),
    )


def _share(entry: JsonObject) -> Share:
    return Share(fields.decode(entry.get("fieldsV1") or {}), entry.get("time", ""))


def write(managed: Managed) -> list[JsonObject]:
    """Return the managedFields: those who apply first, then by time."""
    ordered = sorted(
        managed.items(), key=lambda item: (item[0].operation, item[1].time, item[0].name)
    )
    return [_entry(manager, share) for manager, share in ordered if share.paths]


def _entry(manager: Manager, share: Share) -> JsonObject:
    entry = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        **({"time": share.time} if share.time else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields.encode(share.paths),
    }
    return entry | ({"subresource": manager.subresource} if manager.subresource else {})


@dataclass(frozen=True, slots=True)
class Write:
    """What is written by whom.

    Attributes:
        manager: Who writes.
        schema: Of the kind.
        has_status: Whether the status can be written through its subresource only.
        now: RFC 3339 time.
    """

    manager: Manager
    schema: Schema
    has_status: bool
    now: str

    def updated(self, managed: Managed, old: JsonObject, new: JsonObject) -> dict[Manager, Share]:
        """Return the owners after an update: the writer owns what it changed."""
        seen = fields.compare(_managed_part(old), _managed_part(new), self.schema)
        left = self._others(managed, seen)
        mine = managed.get(self.manager, Share(NOTHING, self.now))
        paths = self._mine((mine.paths - seen.removed) | seen.written)
        time = mine.time if paths == mine.paths else self.now
        return {**left, self.manager: Share(paths, time)}

    def applied(
        self, managed: Managed, old: JsonObject, config: JsonObject, *, force: bool
    ) -> tuple[JsonObject, dict[Manager, Share]]:
        """Return the object after a server-side apply, and its owners.

        Raises:
            StatusError: 409, fields with other values belong to others, and it is not by force.
        """
        last = managed.get(self.manager, Share(NOTHING, ""))
        owned = self._mine(fields.owned(_managed_part(config), self.schema))
        others = [share.paths for manager, share in managed.items() if manager != self.manager]
        merged = fields.merge(old, config, self.schema)
        kept = owned.union(*others)
        pruned = fields.without(merged, last.paths - kept, kept | _UNMANAGED, self.schema)
        seen = fields.compare(_managed_part(old), _managed_part(pruned), self.schema)
        conflicts = self._conflicts(managed, seen)
        if conflicts and not force:
            raise _conflict(conflicts)
        left = self._others(managed, seen)
        # An apply that changes nothing leaves the time as it was, or none.
        changed = bool(seen.written or seen.removed)
        return pruned, {**left, self.manager: Share(owned, self.now if changed else last.time)}

    def _mine(self, paths: Paths) -> Paths:
        if self.manager.subresource == "status":
            return frozenset(path for path in paths if path[0] == "f:status")
        if self.has_status:
            paths = frozenset(path for path in paths if path[0] != "f:status")
        return paths - _UNMANAGED

    def _conflicts(self, managed: Managed, seen: Comparison) -> dict[Manager, Paths]:
        lost = {
            manager: share.paths & seen.written
            for manager, share in managed.items()
            if manager != self.manager
        }
        return {manager: found for manager, found in lost.items() if found}

    def _others(self, managed: Managed, seen: Comparison) -> dict[Manager, Share]:
        lost = seen.written | seen.removed
        return {
            manager: replace(share, paths=share.paths - lost)
            for manager, share in managed.items()
            if manager != self.manager
        }


def _managed_part(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata") or {}
    unmanaged = ("managedFields", "resourceVersion")
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k not in unmanaged}}


def _conflict(conflicts: Mapping[Manager, Paths]) -> StatusError:
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_shown(manager)}", fields.shown(path))
        for manager, paths in conflicts.items()
        for path in sorted(paths)
    ]
    if len(causes) == 1:
        text = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        listed = "\n".join(_listed(conflicts))
        text = f"{len(causes)} conflicts: {listed}"
    return StatusError(409, "Conflict", f"Apply failed with {text}", causes=causes)


def _listed(conflicts: Mapping[Manager, Paths]) -> Iterable[str]:
    for manager, paths in conflicts.items():
        yield f"conflicts with {_shown(manager)}:"
        yield from (f"- {fields.shown(path)}" for path in sorted(paths))


def _shown(manager: Manager) -> str:
    subresource = f' with subresource "{manager.subresource}"' if manager.subresource else ""
    name = f'"{manager.name}"{subresource}'
    if manager.operation == "Apply":
        return name
    return f"{name} using {manager.api_version}"


def is_reset(entries: Json) -> bool:
    """Return whether managedFields ask for none at all: a list with one empty entry."""
    return bool(entries == [{}])
