"""Items of keyed lists that another field manager has brought into an object.

Server-side apply merges such a list, like the ports of a Service, by the keys of its items. If
somebody edits a key, our item is gone and theirs is new, so the next apply would put ours beside
it: two containers where there was one, or two ports of one name, which the API server refuses. An
edited key is therefore undone: the item becomes ours, and the apply, which lacks it, removes it. An
item counts as edited if it has all that an item of the template has which is gone, but for the key.
All other items stay, as fields of others do; if they are in the way, the error names them.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kudo.api import Json, JsonObject, names
from kudo.objects.managed_fields import Writer, entries_of, united, writer_of

_EDITORS: Final = frozenset({"kubectl-edit", "kubectl-patch", "kubectl-replace", "kubectl-set"})
"""Managers of edits by hand. `kubectl create` and `kubectl apply` bring manifests of their own."""
_NOT_OF_TEMPLATES: Final = frozenset({"metadata", "status"})


@dataclass(frozen=True, slots=True)
class KeyedItem:
    """An item that a list has beside those of the template.

    Attributes:
        manager: Who brought it.
        field: Path of the list, such as `spec.ports`.
        key: Its keys and their values.
        steps: Where its fields are in the `fieldsV1` of the manager.
        edited: Whether it is an item of the template whose key a person has edited.
    """

    manager: str
    field: str
    key: Mapping[str, Json]
    steps: tuple[str, ...]
    edited: bool

    def __str__(self) -> str:
        key = ",".join(f"{name}={value}" for name, value in self.key.items())
        return f"{self.field}[{key}]"


def is_edit(writer: Writer) -> bool:
    """Return whether a person has written with kubectl; `kubectl scale` is none."""
    return writer.manager in _EDITORS and not writer.subresource


def items_beside(live: JsonObject, target: JsonObject) -> list[KeyedItem]:
    """Return the items that lists of the template have in the cluster and not in the template.

    Args:
        live: The object as the API server gives it.
        target: What is to be applied. Lists that it lacks do not count.
    """
    items: list[KeyedItem] = []
    for entry in entries_of(live["metadata"]):
        writer = writer_of(entry)
        if writer.manager == names.FIELD_MANAGER or writer.subresource:
            continue  # ours, or of a subresource, which an apply does not change
        if entry.get("apiVersion") != target["apiVersion"]:
            continue  # the paths of its fields are those of another version
        at = KeyedItem(writer.manager, "", {}, (), edited=is_edit(writer))
        items += _beside(entry.get("fieldsV1"), target, live, at)
    return items


def with_items_taken(
    entries: Sequence[JsonObject], items: Sequence[KeyedItem], api_version: str
) -> list[JsonObject] | None:
    """Return `managedFields` in which items whose keys were edited are ours alone.

    Returns:
        None if we have applied nothing in this API version: our fields have other paths then.
    """
    us = Writer(names.FIELD_MANAGER, "Apply", "")
    ours = [e for e in entries if writer_of(e) == us and e.get("apiVersion") == api_version]
    items = [item for item in items if item.edited]
    if not items or len(ours) != 1:
        return None
    fields = ours[0].get("fieldsV1") or {}
    taken: list[JsonObject] = []
    for entry in entries:
        if entry is ours[0]:
            continue
        writer, left = writer_of(entry), entry.get("fieldsV1")
        for item in items if is_edit(writer) else ():
            if item.manager == writer.manager:
                part = left
                for step in item.steps:
                    part = part.get(step) if isinstance(part, dict) else None
                nested: JsonObject = part or {}
                for step in reversed(item.steps):
                    nested = {step: nested}
                fields = united((fields, nested))
                left = _without(left, item.steps)
        if left:
            taken.append({**entry, "fieldsV1": left})
    return [{**ours[0], "fieldsV1": fields}, *taken]


def _beside(fields: Json, target: Json, live: Json, at: KeyedItem) -> Iterator[KeyedItem]:
    """Yield the keyed items that `fieldsV1` names and a template lacks, below a place."""
    if not isinstance(fields, dict):
        return
    for step, below in fields.items():
        kind, _, text = step.partition(":")
        steps = (*at.steps, step)
        if kind == "f" and isinstance(target, dict) and text in target:
            if at.steps or text not in _NOT_OF_TEMPLATES:
                field = f"{at.field}.{text}" if at.field else text
                inside = replace(at, field=field, steps=steps)
                member = live.get(text) if isinstance(live, dict) else None
                yield from _beside(below, target[text], member, inside)
        elif kind == "k" and isinstance(target, list):
            key = _key(text)
            here, there = replace(at, key=key, steps=steps), _with_key(live, key)
            ours = _with_key(target, key)
            if ours is None:
                # An item of the template may leave defaults of keys out.
                gone = (item for item in target if _with_key(live, _keys_in(item, key)) is None)
                edited = at.edited and any(_covers(there, item, key) for item in gone)
                yield replace(here, edited=edited)
            else:
                yield from _beside(below, ours, there, replace(at, field=str(here), steps=steps))


def _with_key(items: Json, key: Mapping[str, Json]) -> Json:
    """Return the item of a list with a key; None if there is none."""
    for item in items if isinstance(items, list) else ():
        # What an item leaves out may be the default, so it counts as equal.
        if isinstance(item, dict) and all(item.get(k, value) == value for k, value in key.items()):
            return item
    return None


def _keys_in(item: Json, key: Mapping[str, Json]) -> dict[str, Json]:
    return {name: item[name] for name in key if name in item} if isinstance(item, dict) else {}


def _covers(live: Json, target: Json, but: Collection[str] = ()) -> bool:
    """Return whether a value in the cluster has all of one of a template; it may have defaults."""
    if target is None:
        return True
    if isinstance(target, dict):
        return isinstance(live, dict) and all(
            _covers(live.get(name), value) for name, value in target.items() if name not in but
        )
    if isinstance(target, list):
        pairs = isinstance(live, list) and len(live) == len(target)
        return pairs and all(_covers(*pair) for pair in zip(live, target, strict=True))
    return live is not None and str(live) == str(target)


def _key(text: str) -> dict[str, Json]:
    try:
        key = json.loads(text)
    except ValueError:
        return {}
    return key if isinstance(key, dict) else {}


def _without(fields: Json, steps: Sequence[str]) -> JsonObject:
    """Return fields without those at a path."""
    if not isinstance(fields, dict):
        return {}
    first, *rest = steps
    left = {step: below for step, below in fields.items() if step != first}
    # Nothing empty is left: in `fieldsV1` an empty mapping stands for the whole field.
    if rest and (below := _without(fields.get(first), rest)):
        left[first] = below
    return left
