"""Resource: group, version, plural name and scope of a kind, and its URL paths.

A Resource comes from discovery, or is a constant for a kind that a program always needs, which
saves a request. Invariant: every part of a path has the form that Kubernetes gives it (`names`), so
a text from user data cannot address another object. Names are quoted as well, since those of some
kinds may contain spaces or letters of any alphabet.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from kubeio.errors import InvalidPath
from kubeio.names import Part, name_fault
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
            InvalidPath: a part does not have the form that Kubernetes gives it.
            ValueError: a namespace or a name is missing.
        """
        path = group_version_path(self.group, self.version)
        if self.namespaced and namespace is not None:
            path += f"/namespaces/{_checked('namespace', namespace)}"
        path += f"/{_checked('resource', self.plural)}"
        if name is not None:
            if self.namespaced and namespace is None:
                raise ValueError(f"{self.kind} {name!r} is namespaced: pass its namespace")
            path += f"/{_quoted(_checked('name', name))}"
        if subresource is not None:
            if name is None:
                raise ValueError(f"subresource {subresource!r} needs a name")
            for segment in _checked("subresource", subresource).split("/"):
                path += f"/{_quoted(segment)}"
        return path


def group_version_path(group: str, version: str) -> str:
    """Return the URL path of an API version; the core group is the empty string.

    Raises:
        InvalidPath: a part does not have the form that Kubernetes gives it.
    """
    prefix = f"/apis/{_checked('group', group)}" if group else "/api"
    return f"{prefix}/{_checked('version', version)}"


def split_api_version(api_version: str) -> tuple[str, str]:
    """Return (group, version); the core group is the empty string."""
    group, _, version = api_version.rpartition("/")
    return group, version


def namespace_of(obj: JsonObject) -> str | None:
    """Return the object's namespace, None if it names none."""
    namespace = obj.get("metadata", {}).get("namespace")
    return str(namespace) if namespace else None


def name_of(obj: JsonObject) -> str:
    """Return the object's name.

    Raises:
        ValueError: it has none.
    """
    name = obj.get("metadata", {}).get("name")
    if not name:
        raise ValueError(f"{obj.get('kind', 'object')} without metadata.name")
    return str(name)


def _checked(part: Part, text: str) -> str:
    fault = name_fault(part, text)
    if fault:
        raise InvalidPath(fault)
    return text


def _quoted(text: str) -> str:
    # `quote` takes ten times as long, and nearly every name is of these.
    return text if _UNRESERVED.fullmatch(text) else quote(text, safe=_SAFE)
