"""What a URL path of the Kubernetes API names."""

from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Target:
    """A collection, an object or a subresource.

    Attributes:
        resource: plural.group, or the plural alone for the core group.
        namespace: Empty for all namespaces, and for cluster-scoped resources.
        name: Empty for a collection.
        subresource: Empty for the object itself.
    """

    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target_of(path: str) -> Target | None:
    """Return what a path names, or None where it names no resource, as in discovery."""
    root, *segments = [unquote(segment) for segment in path.strip("/").split("/")]
    if root not in {"api", "apis"}:
        return None
    group = segments[0] if root == "apis" and segments else ""
    rest = segments[2 if root == "apis" else 1 :]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return Target(f"{plural}.{group}" if group else plural, namespace, name, subresource)
