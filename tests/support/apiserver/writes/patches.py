"""JSON patches (RFC 6902) and JSON merge patches (RFC 7386) as the API server applies them."""

from collections.abc import Sequence

from kubeio.types import Json, JsonObject, copy_json


class PatchFailed(Exception):
    """An operation does not fit the object."""


class PatchUnreadable(Exception):
    """The patch is no list of operations."""


def apply_json_patch(obj: JsonObject, operations: Sequence[Json]) -> Json:
    """Return a copy of the object with the operations done, in their order.

    Raises:
        PatchFailed: a test failed, or a path does not exist; nothing is to be stored.
        PatchUnreadable: an operation is not one.
    """
    document = copy_json(obj)
    for operation in operations:
        document = _applied(document, operation)
    return document


def apply_merge_patch(target: Json, patch: Json) -> Json:
    """Return `target` with the patch applied; neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result


def _applied(document: Json, operation: Json) -> Json:
    if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
        raise PatchUnreadable
    path = [_unescaped(part) for part in operation["path"].split("/")[1:]]
    match operation.get("op"):
        case "test":
            _test(document, path, operation.get("value"), operation["path"])
        case "add" | "replace" as verb:
            return _put(document, path, operation.get("value"), operation, insert=verb == "add")
        case "remove":
            _take(document, path, operation)
        case "move" | "copy" as verb:
            source = [_unescaped(part) for part in operation["from"].split("/")[1:]]
            value = copy_json(_found(document, source, operation))
            if verb == "move":
                _take(document, source, operation)
            return _put(document, path, value, operation, insert=True)
        case _:
            raise PatchUnreadable
    return document


def _test(document: Json, path: list[str], expected: Json, shown: str) -> None:
    try:
        found = _found(document, path, {"op": "test", "path": shown})
    except PatchFailed:
        if expected is None:
            return
        raise PatchFailed(f"testing path {shown}: missing value") from None
    if found != expected or type(found) is not type(expected):
        raise PatchFailed(f"testing value {shown} failed: test failed")


def _put(
    document: Json, path: list[str], value: Json, operation: JsonObject, *, insert: bool
) -> Json:
    if not path:
        return value
    parent, last = _found(document, path[:-1], operation), path[-1]
    if isinstance(parent, list):
        _put_item(parent, last, value, operation, insert=insert)
    elif isinstance(parent, dict):
        # The API server's library takes `replace` for `add` here.
        parent[last] = value
    else:
        raise _missing(operation)
    return document


def _put_item(
    parent: list[Json], last: str, value: Json, operation: JsonObject, *, insert: bool
) -> None:
    if insert and last == "-":
        parent.append(value)
        return
    index = _index(parent, last, operation, end=insert)
    parent[index : index + (0 if insert else 1)] = [value]


def _take(document: Json, path: list[str], operation: JsonObject) -> None:
    parent, last = _found(document, path[:-1], operation), path[-1]
    if isinstance(parent, list):
        del parent[_index(parent, last, operation)]
    elif isinstance(parent, dict) and last in parent:
        del parent[last]
    else:
        raise _missing(operation)


def _found(document: Json, path: list[str], operation: JsonObject) -> Json:
    for part in path:
        if isinstance(document, list):
            document = document[_index(document, part, operation)]
        elif isinstance(document, dict) and part in document:
            document = document[part]
        else:
            raise _missing(operation)
    return document


def _index(items: list[Json], text: str, operation: JsonObject, *, end: bool = False) -> int:
    if not text.isdigit() or int(text) >= len(items) + end:
        raise _missing(operation)
    return int(text)


def _missing(operation: JsonObject) -> PatchFailed:
    verb, path = operation.get("op"), operation["path"]
    return PatchFailed(f"{verb} operation does not apply: doc is missing path: {path}")


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
