"""JSON merge patch (RFC 7386): compute one, and apply one.

Invariant: ``merge_apply(old, merge_diff(old, new)) == new`` for every pair of objects in which
``new`` holds no null value, since a merge patch cannot express one.
"""

from kubeio.types import Json, JsonObject


def merge_diff(old: JsonObject, new: JsonObject) -> JsonObject:
    """Return the smallest merge patch that turns ``old`` into ``new``; empty if nothing differs.

    Lists and scalars are replaced whole; neither argument is changed.
    """
    patch: JsonObject = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = merge_diff(before, value)
            if inner:
                patch[key] = inner
        elif key not in old or not _same(before, value):
            patch[key] = value
    return patch


def merge_apply(target: Json, patch: Json) -> Json:
    """Return ``target`` with the patch applied; neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_apply(result.get(key), value)
    return result


def _same(left: Json, right: Json) -> bool:
    # Python holds True == 1, JSON does not.
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    return bool(left == right)
