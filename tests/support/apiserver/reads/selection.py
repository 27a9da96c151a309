"""Which objects a list or a watch is about, and how much of them is shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubeio.cache.informer import label_matcher
from kubeio.types import Json, JsonObject
from tests.support.apiserver import status

_FIELDS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects objects.

    Attributes:
        namespace: None for all.
        labels: Judges labels.
        fields: What fields must be, by their dotted paths.
        not_fields: Paths of fields, and what they must not be.
        metadata_only: Whether no more than the metadata is asked for.
    """

    namespace: str | None
    labels: Callable[[Mapping[str, str]], bool]
    fields: Mapping[str, str]
    not_fields: tuple[tuple[str, str], ...] = ()
    metadata_only: bool = False
    narrowed: bool = False

    def selects(self, obj: JsonObject) -> bool:
        metadata = obj["metadata"]
        if self.namespace is not None and metadata.get("namespace") != self.namespace:
            return False
        if not self.narrowed:
            return True
        if any(_value(obj, path) != expected for path, expected in self.fields.items()):
            return False
        if any(_value(obj, path) == value for path, value in self.not_fields):
            return False
        return self.labels(metadata.get("labels") or {})


def read_selection(
    query: Mapping[str, str], namespace: str | None, accept: str, fields: tuple[str, ...]
) -> Selection:
    """Read what the query of a list or watch selects.

    Args:
        fields: The fields that it may name beside name and namespace.

    Raises:
        StatusError: 400, a selector cannot be read.
    """
    by_label, by_field = query.get("labelSelector"), query.get("fieldSelector")
    try:
        labels = label_matcher(by_label)
    except ValueError as error:
        raise status.bad_request(f"unable to parse requirement: {error}") from None
    equal, unequal = _fields(by_field or "", (*_FIELDS, *fields))
    return Selection(
        namespace,
        labels,
        equal,
        unequal,
        metadata_only="as=PartialObjectMetadata" in accept.split(",")[0],
        narrowed=bool(by_label or by_field),
    )


def _fields(
    selector: str, allowed: tuple[str, ...]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Return what fields must be, and what they must not be."""
    equal: dict[str, str] = {}
    unequal: list[tuple[str, str]] = []
    for part in filter(None, selector.split(",")):
        negated = "!=" in part
        key, _, value = part.replace("!=", "=").replace("==", "=").partition("=")
        if key not in allowed:
            known = ", ".join(f'"{name}"' for name in allowed)
            text = f'"{key}" is not a known field selector: only {known}'
            raise status.bad_request(text)
        if negated:
            unequal.append((key, value))
        else:
            equal[key] = value
    return equal, tuple(unequal)


def _value(obj: JsonObject, path: str) -> Json:
    found: Json = obj
    for name in path.split("."):
        found = (found or {}).get(name)
    return found


def partial(obj: JsonObject) -> JsonObject:
    """Return the metadata of an object, as PartialObjectMetadata."""
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": obj["metadata"],
    }
