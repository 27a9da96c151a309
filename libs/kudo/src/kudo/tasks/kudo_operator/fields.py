"""Field ownership of children, by `managedFields`.

The API server removes a parameter that the parent no longer sets only if it knows that we applied
it. KUDO 0.19 wrote its children by merge patches, as the manager `manager`. Of these
writes the parameters and the OperatorVersion become ours, and nothing else: the run in progress,
finalizers and changes by users keep their owners.
"""

from collections.abc import Collection
from functools import reduce

from kudo.api import JsonObject, names

_ORIGINAL = ("manager", "Update", "")
_OURS = (names.FIELD_MANAGER, "Apply", "")
_VERSION, _PARAMETERS = "f:operatorVersion", "f:parameters"
_ACCOUNT = "f:serviceAccountName"


def owned_parameters(metadata: JsonObject) -> frozenset[str]:
    """Return the names of the parameters that we have applied."""
    return frozenset(
        key.removeprefix("f:")
        for entry in _entries(metadata, _OURS)
        for key in _mapping(_mapping(_fields(entry), "f:spec"), _PARAMETERS)
        if key.startswith("f:")
    )


def owns_account(metadata: JsonObject) -> bool:
    """Return whether we have applied `spec.serviceAccountName`."""
    return any(
        _ACCOUNT in _mapping(_fields(entry), "f:spec") for entry in _entries(metadata, _OURS)
    )


def handed_over(metadata: JsonObject, kept: Collection[str]) -> list[JsonObject] | None:
    """Return the `managedFields` of a child with what the original set in our name.

    Args:
        metadata: Of the child as the API server gives it.
        kept: Parameters that stay as they are, since removing them would be denied: those that are
            immutable. The webhook of the original filled some in under the same name.

    Returns:
        None if the original set nothing, or it is ours already.
    """
    original, ours = _entries(metadata, _ORIGINAL), _entries(metadata, _OURS)
    halves = [_split(_fields(entry), kept) for entry in original]
    taken = [mine for mine, _ in halves if mine]
    if not taken:
        return None
    merged: JsonObject = {
        "manager": names.FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": names.API_VERSION,
        "time": max(str(entry.get("time") or "") for entry in (*original, *ours)),
        "fieldsType": "FieldsV1",
        "fieldsV1": reduce(_united, [*map(_fields, ours), *taken]),
    }
    left = [
        {**entry, "fieldsV1": rest}
        for entry, (_, rest) in zip(original, halves, strict=True)
        if rest
    ]
    others = [e for e in metadata["managedFields"] if _writer(e) not in (_ORIGINAL, _OURS)]
    return [merged, *left, *others]


def _split(fields: JsonObject, kept: Collection[str]) -> tuple[JsonObject, JsonObject]:
    """Return a set of fields as what becomes ours and what does not."""
    spec = _mapping(fields, "f:spec")
    parameters, stays = _mapping(spec, _PARAMETERS), {f"f:{name}" for name in kept}
    ours = {key: below for key, below in parameters.items() if key not in stays}
    theirs = {key: below for key, below in parameters.items() if key in stays}
    taken = _with({k: v for k, v in spec.items() if k == _VERSION}, _PARAMETERS, ours)
    rest = {k: v for k, v in spec.items() if k not in {_VERSION, _PARAMETERS}}
    others = {key: below for key, below in fields.items() if key != "f:spec"}
    return _with({}, "f:spec", taken), _with(others, "f:spec", _with(rest, _PARAMETERS, theirs))


def _with(fields: JsonObject, key: str, below: JsonObject) -> JsonObject:
    return {**fields, key: below} if below else fields


def _united(left: JsonObject, right: JsonObject) -> JsonObject:
    """Unite two sets of fields, each a tree whose leaves are empty."""
    return {key: _united(_mapping(left, key), _mapping(right, key)) for key in {**left, **right}}


def _entries(metadata: JsonObject, writer: tuple[str, str, str]) -> list[JsonObject]:
    return [entry for entry in metadata.get("managedFields") or () if _writer(entry) == writer]


def _writer(entry: JsonObject) -> tuple[str, str, str]:
    manager, operation, subresource = (
        str(entry.get(key) or "") for key in ("manager", "operation", "subresource")
    )
    return manager, operation, subresource


def _fields(entry: JsonObject) -> JsonObject:
    return _mapping(entry, "fieldsV1")


def _mapping(fields: JsonObject, key: str) -> JsonObject:
    found = fields.get(key)
    return found if isinstance(found, dict) else {}
