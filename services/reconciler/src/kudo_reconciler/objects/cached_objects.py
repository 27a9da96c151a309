"""What is kept in memory of applied objects: the fields that are read, or that they exist.

A pod as the API server sends it takes 35 KiB, and thousands are watched. Code that reads another
field of an object from the observer's cache adds it here, or reads the object live.
"""

from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from typing import Final, TypeVar

from kudo.api import Json, JsonObject, names
from kudo.objects.health import read_fields
from kudo.objects.health.fields import each, fields, scalar
from kudo.objects.managed_fields import Writer, writers
from kudo_reconciler.objects.run_context import ObjectKey

_WRITERS: Final = "writers"
_OF_SHARES: Final = frozenset(
    {
        "resourceVersion",
        # The cache keeps only the labels that identify who applied the object last.
        "labels",
        names.ANNOTATION_PLAN_UID,
        names.ANNOTATION_SHARED_BY,
    }
)
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"

_Value = TypeVar("_Value", bound=Hashable)


@lru_cache(maxsize=4096)
def _shared(value: _Value) -> _Value:
    """Return one instance of equal values: many objects have the same namespace and owner."""
    return value


def _repeated(value: Json) -> Json:
    """Keep a string that many objects have only once in memory."""
    kept = scalar(value)
    return _shared(kept) if isinstance(kept, str) else kept


def _presence(value: Json) -> Json:
    return None if value is None else ""


def _whole(value: Json) -> Json:
    return value if isinstance(value, str) else None


_OWNER: Final = fields(
    {"kind": _repeated, "name": _repeated, "uid": _repeated, "controller": scalar}
)


def _controller(value: Json) -> Json:
    controls = isinstance(value, dict) and value.get("controller")
    return _OWNER(value) if controls else None


_METADATA: Final = fields(
    {
        "name": scalar,
        "namespace": _repeated,
        "uid": scalar,
        "resourceVersion": scalar,
        "generation": scalar,
        "deletionTimestamp": scalar,
        "finalizers": each(_repeated),
        "ownerReferences": each(_controller),
        "labels": fields(
            dict.fromkeys(
                (
                    names.LABEL_HERITAGE,
                    names.LABEL_OPERATOR,
                    names.LABEL_INSTANCE,
                    # Of the pods of a StatefulSet: whether they are of its current template.
                    "controller-revision-hash",
                    names.LABEL_JOB_OF,
                ),
                _repeated,
            )
        ),
        "annotations": fields(
            {
                names.ANNOTATION_PLAN_UID: scalar,
                names.ANNOTATION_PIPE_POD: scalar,
                names.ANNOTATION_DELETE_WITH_INSTANCE: scalar,
                names.ANNOTATION_DELETION_POLICY: _repeated,
                names.ANNOTATION_SHOW_TERMINATION_MESSAGE: _repeated,
                names.ANNOTATION_RETAINED_BY: _whole,
                # Lists every Instance that shares the object: it is never truncated.
                names.ANNOTATION_SHARED_BY: _whole,
                # Up to 256 KiB; code that needs more than its presence reads it live.
                names.ANNOTATION_LAST_APPLIED: _presence,
                _SELECTED_NODE: scalar,
            }
        ),
    }
)


def reduced(obj: JsonObject) -> JsonObject:
    """Return the part of an object that a cache keeps; the argument is not changed."""
    metadata = obj["metadata"]
    return {
        "apiVersion": _shared(obj["apiVersion"]),
        "kind": _shared(obj["kind"]),
        "metadata": _METADATA(metadata),
        _WRITERS: _shared(writers(metadata)),
    } | read_fields(obj)


def written_by(obj: JsonObject) -> tuple[Writer, ...]:
    """Return the writers of an object, whether it comes from the cache or from the API server."""
    cached: tuple[Writer, ...] | None = obj.get(_WRITERS)
    return writers(obj["metadata"]) if cached is None else cached


def is_whole(obj: JsonObject) -> bool:
    """Return whether an object comes from the API server, and not from the cache."""
    return _WRITERS not in obj


def only_shares_differ(before: JsonObject, after: JsonObject) -> bool:
    """Return whether two cached states of an object differ only in their sharers."""
    return _without_shares(before) == _without_shares(after)


def _without_shares(obj: JsonObject) -> JsonObject:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _OF_SHARES}
    annotations = obj["metadata"].get("annotations") or {}
    metadata["annotations"] = {k: v for k, v in annotations.items() if k not in _OF_SHARES}
    return {**{k: v for k, v in obj.items() if k != _WRITERS}, "metadata": metadata}


MOST_EXISTING: Final = 10_000
"""Keys: about 5 MB. What is forgotten costs a request that is refused."""
_ShortKey = tuple[str, str, str, str]


class ExistingObjects:
    """The objects of kinds that are not watched that were applied or read last.

    It is a hint that saves a request, and nothing is decided by it: an object in it is read before
    it is applied, and another one is created, which the API server refuses if it exists.


    Args:
        most: How many are remembered.
    """

    def __init__(self, most: int = MOST_EXISTING) -> None:
        self._most = most
        self._keys: OrderedDict[_ShortKey, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: ObjectKey) -> bool:
        return _shortened(key) in self._keys

    def add(self, key: ObjectKey) -> None:
        short = _shortened(key)
        self._keys[short] = None
        self._keys.move_to_end(short)
        if len(self._keys) > self._most:
            self._keys.popitem(last=False)

    def discard(self, key: ObjectKey) -> None:
        self._keys.pop(_shortened(key), None)


def _shortened(key: ObjectKey) -> _ShortKey:
    """Return a key that does not depend on the version in which a kind is served."""
    resource, namespace, name = key
    return resource.group, resource.plural, namespace or "", name
