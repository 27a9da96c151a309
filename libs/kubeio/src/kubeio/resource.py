"""Resource: group, version, plural name and scope of a kind, and its URL paths.

A Resource comes from discovery, or is a constant for a kind that a program always needs, which
saves a request. Invariant: a path has no segment that is empty, ``.`` or ``..``, and every segment
is quoted, so a name from user data cannot address another object.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from kubeio.types import JsonObject

_SAFE: Final = "-._~:"
_UNRESERVED: Final = re.compile(r"[-._~:0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of the API.

    ``verbs`` and ``subresources`` come from discovery; they are empty in constants.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """Return ``group/version``, or ``version`` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """Return ``plural.group``, as kubectl and CRDs name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """Return the URL path of the collection, an object, or a subresource of it.

        The namespace is ignored for a cluster-scoped resource, required for a namespaced object,
        and selects the collection of all namespaces if None.

        Raises:
            ValueError: a segment is empty, ``.`` or ``..``, or a namespace is missing.
        """
        segments = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace is not None:
            segments += ["namespaces", namespace]
        segments.append(self.plural)
        if name is not None:
            if self.namespaced and namespace is None:
                raise ValueError(f"{self.kind} {name!r} is namespaced: pass its namespace")
            segments.append(name)
        if subresource is not None:
            if name is None:
                raise ValueError(f"subresource {subresource!r} needs a name")
            segments += subresource.split("/")
        return "/" + "/".join(map(_segment, segments))


def split_api_version(api_version: str) -> tuple[str, str]:
    """Return (group, version); the core group is the empty string."""
    group, _, version = api_version.rpartition("/")
    return group, version


def namespace_of(obj: JsonObject) -> str | None:
    """Return the object's namespace, None if it names none."""
    found = obj.get("metadata", {}).get("namespace")
    return str(found) if found else None


def name_of(obj: JsonObject) -> str:
    """Return the object's name.

    Raises:
        ValueError: it has none.
    """
    found = obj.get("metadata", {}).get("name")
    if not found:
        raise ValueError(f"{obj.get('kind', 'object')} without metadata.name")
    return str(found)


def _segment(text: str) -> str:
    if not text or text in (".", ".."):
        raise ValueError(f"{text!r} cannot be part of an API path")
    # `quote` takes ten times as long, and nearly every name is of these.
    return text if _UNRESERVED.fullmatch(text) else quote(text, safe=_SAFE)
