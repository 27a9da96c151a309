"""The marks of an object that tell whose it is: owner reference and annotations of its retention.

They are all that is written to an object that is only created; see `kudo.objects.apply_policy`.
"""

from collections.abc import Iterator, Mapping

from kubeio import jsonpatch
from kudo.api import Json, JsonObject, names
from kudo.objects.deletion_policy import is_retained


def mark_changes(known: JsonObject, target: JsonObject, uid: str) -> list[JsonObject]:
    """Return the operations of a JSON patch that give an object the marks of another one.

    Args:
        known: The object as the API server has it.
        target: As it would be applied.
        uid: Of the Instance: owner references to others stay.

    Returns:
        Empty if the marks are the same. No operation quotes other annotations: `kubectl apply`
        stores the values of a Secret in one.
    """
    live, wanted = known["metadata"], target["metadata"]
    return [*_annotation_changes(live, wanted), *_owner_changes(live, wanted, uid)]


def _annotation_changes(
    live: Mapping[str, Json], wanted: Mapping[str, Json]
) -> Iterator[JsonObject]:
    before, after = _retention(live), _retention(wanted)
    if after and live.get("annotations") is None:
        yield jsonpatch.add("/metadata/annotations", after)
        return
    for key in before:
        if key not in after:
            yield jsonpatch.remove(_path(key))
    for key, text in after.items():
        if before.get(key) != text:
            yield jsonpatch.add(_path(key), text)


def _retention(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return the annotations of an object that retain it."""
    annotations = metadata.get("annotations") or {}
    policy = {names.ANNOTATION_DELETION_POLICY: names.RETAIN} if is_retained(metadata) else {}
    by = names.ANNOTATION_RETAINED_BY
    return {**policy, **({by: annotations[by]} if by in annotations else {})}


def _owner_changes(
    live: Mapping[str, Json], wanted: Mapping[str, Json], uid: str
) -> Iterator[JsonObject]:
    before, after = live.get("ownerReferences") or [], wanted.get("ownerReferences") or []
    others = [one for one in before if one.get("uid") != uid]
    ours = [one for one in after if one.get("uid") == uid]
    if bool(ours) != (len(others) < len(before)):
        yield jsonpatch.add("/metadata/ownerReferences", [*others, *ours])


def _path(annotation: str) -> str:
    return jsonpatch.pointer(("metadata", "annotations", annotation))
