"""Discovery documents: plain and aggregated."""

from collections.abc import Iterator

from kubeio.types import JsonObject
from tests.support.apiserver.types.kinds import Kind
from tests.support.apiserver.types.registry import Registry

_STATUS_VERBS = ["get", "patch", "update"]
VERSION: JsonObject = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "platform": "linux/amd64",
}


def is_aggregated(accept: str) -> bool:
    return "as=APIGroupDiscoveryList" in accept


def core_versions() -> JsonObject:
    return {"kind": "APIVersions", "versions": ["v1"]}


def group_list(registry: Registry) -> JsonObject:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(name, versions) for name, versions in _groups(registry).items() if name],
    }


def group(registry: Registry, name: str) -> JsonObject | None:
    """Return the APIGroup of that name; None if it is not served."""
    versions = _groups(registry).get(name)
    if versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: list[str]) -> JsonObject:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _groups(registry: Registry) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group, version in registry.group_versions():
        found.setdefault(group, []).append(version)
    return found


def resource_list(registry: Registry, group: str, version: str) -> JsonObject | None:
    """Return the APIResourceList of a group version; None if it is not served."""
    kinds = [kind for kind in registry if (kind.group, kind.version) == (group, version)]
    if not kinds:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [entry for kind in kinds for entry in _resources(kind)],
    }


def _resources(kind: Kind) -> Iterator[JsonObject]:
    same = {"singularName": "", "namespaced": kind.namespaced, "kind": kind.kind}
    yield {**same, "name": kind.plural, "singularName": kind.kind.lower(), "verbs": [*kind.verbs]}
    for name in kind.subresources:
        yield {**same, "name": f"{kind.plural}/{name}", "verbs": _STATUS_VERBS}


def aggregated(registry: Registry, *, core: bool) -> JsonObject:
    """Return the APIGroupDiscoveryList of the core group, or of all others."""
    groups = _groups(registry)
    names = [""] if core else [name for name in groups if name]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [_discovered(registry, name, groups[name]) for name in names],
    }


def _discovered(registry: Registry, group: str, versions: list[str]) -> JsonObject:
    listed = [
        {
            "version": version,
            "freshness": "Current",
            "resources": [
                _entry(kind) for kind in registry if (kind.group, kind.version) == (group, version)
            ],
        }
        for version in versions
    ]
    metadata = {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None}
    return {"metadata": metadata, "versions": listed}


def _entry(kind: Kind) -> JsonObject:
    found: JsonObject = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.kind.lower(),
        "verbs": [*kind.verbs],
    }
    subresources = [{"subresource": name, "verbs": _STATUS_VERBS} for name in kind.subresources]
    return found | ({"subresources": subresources} if subresources else {})
