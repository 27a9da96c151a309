"""What an Instance sets for a parameter: a value, or a reference to one in another object."""

from dataclasses import dataclass
from typing import Final

from kudo.api.wire import JsonObject

SECRET: Final = "Secret"  # noqa: S105 - a kind
CONFIG_MAP: Final = "ConfigMap"

# No text in UTF-8 begins with this byte, so no value is the same as a reference.
_NO_VALUE: Final = b"\xff"


@dataclass(frozen=True, slots=True)
class Reference:
    """A key of an object in the namespace of the Instance.

    Attributes:
        kind: `Secret` or `ConfigMap`; empty if the source names none or both.
        name: Name of the object.
        key: The key in its data.
    """

    kind: str
    name: str
    key: str

    def __str__(self) -> str:
        """Return it as messages show it: `Secret db/password`."""
        return f"{self.kind or 'nothing'} {self.name}/{self.key}"

    @property
    def canonical(self) -> bytes:
        """What stands for it in digests; no value in UTF-8 is the same."""
        # Lengths, since what was not validated yet may contain anything.
        text = f"{len(self.kind)}:{len(self.name)}:{self.kind}{self.name}{self.key}"
        return _NO_VALUE + text.encode(errors="surrogatepass")


Setting = str | Reference
"""What an Instance sets for a parameter: a value, or a reference to one."""

_FIELDS: Final = {"secretKeyRef": SECRET, "configMapKeyRef": CONFIG_MAP}


def reference_in(source: JsonObject) -> Reference:
    """Return the reference in an item of `spec.parametersFrom`, as JSON."""
    kinds = [field for field in _FIELDS if source.get(field)]
    if len(kinds) != 1:
        return Reference("", "", "")
    selector = source[kinds[0]]
    return Reference(_FIELDS[kinds[0]], str(selector.get("name")), str(selector.get("key")))


def source_with(name: str, reference: Reference) -> JsonObject:
    """Return the item of `spec.parametersFrom` for a parameter, as JSON."""
    field = next(field for field, kind in _FIELDS.items() if kind == reference.kind)
    return {"name": name, field: {"name": reference.name, "key": reference.key}}
