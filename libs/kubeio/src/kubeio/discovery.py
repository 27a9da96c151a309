"""API discovery: which kinds the API server serves, and under which paths.

``resolve`` reads one group version when it is first needed. The handler of a CRD answers it, so a
CRD that has just been established is found, and a broken aggregated API server elsewhere has no
effect. ``all_resources`` uses aggregated discovery, or reads each group if the server has none.

Invariant: a kind that was found stays cached until ``invalidate``; that a kind is not served is
never taken from an answer that is older than the question. Whoever acts on it may end a plan, or
skip a deletion, and a CRD may have been established a moment ago.
"""

import asyncio
import itertools
import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from kubeio.client import Client
from kubeio.errors import ApiError, ConnectionLost, Forbidden, InvalidPath, NotFound, UnknownKind
from kubeio.names import api_version_fault
from kubeio.resource import CRDS, Resource, group_version_path, split_api_version
from kubeio.types import Json, JsonObject

log = logging.getLogger(__name__)

_AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
T = TypeVar("T")

_REMEMBERED = 500
_ACCEPT = f"{_AGGREGATED},application/json"


@dataclass(frozen=True, slots=True)
class _GroupVersion:
    """What a group version serves, and when the request for it was sent (see ``_moments``)."""

    kinds: dict[str, Resource]
    asked_at: int


class Discovery:
    """Finds resources by kind; one instance is shared by everything that uses a client.

    Args:
        client: used for every request.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._cache: dict[str, _GroupVersion] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        # Orders questions and requests; a clock may stand still between the two.
        self._moments = itertools.count()

    async def resolve(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind.

        Raises:
            UnknownKind: the server answered after this call began that it does not serve it, or
                no server can: the API version does not have the form of one.
            ApiError, ConnectionLost: discovery failed.
        """
        resource = self._cached(api_version, kind)
        if resource is not None:
            return resource
        if api_version_fault(api_version):
            raise UnknownKind(api_version, kind)
        now = next(self._moments)
        # Callers that miss the same group version at the same time share one request, or the one
        # after it if theirs came while it was on its way.
        async with self._locks.setdefault(api_version, asyncio.Lock()):
            resource = self._cached(api_version, kind)
            read = self._cache.get(api_version)
            # The answer to an older request proves nothing: a CRD may be established since.
            if resource is None and (read is None or read.asked_at <= now):
                await self._read(api_version)
                resource = self._cached(api_version, kind)
        if resource is None:
            raise UnknownKind(api_version, kind)
        return resource

    async def look_ahead(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind, which may not be served yet.

        A group version that was read before is not read again.

        Raises:
            UnknownKind: it is not known by now.
            ApiError, ConnectionLost: discovery failed.
        """
        if api_version not in self._cache:
            return await self.resolve(api_version, kind)
        resource = self._cached(api_version, kind)
        if resource is None:
            raise UnknownKind(api_version, kind)
        return resource

    async def for_object(self, obj: JsonObject, *, ahead: bool = False) -> Resource:
        """Return the resource of an object's kind; see ``resolve`` and ``look_ahead``."""
        find = self.look_ahead if ahead else self.resolve
        return await find(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))

    async def resources(self, api_version: str) -> tuple[Resource, ...]:
        """Return the resources of a group version, none if it is not served."""
        group_version = self._cache.get(api_version)
        if group_version is None or not group_version.kinds:
            group_version = await self._read(api_version)
        return tuple(group_version.kinds.values())

    async def definition(
        self, api_version: str, kind: str, names: Collection[str] = ()
    ) -> str | None:
        """Return the name of the CRD that is to serve a kind, which may not be served yet.

        CRDs are read by name: listing them costs megabytes, and takes a right of its own.

        Args:
            api_version: Of the kind.
            kind: Name of the kind.
            names: CRDs to look at beside the one with the usual plural.

        Returns:
            None if none of these exists, serves that version, and has these names to itself. None,
            too, if CRDs may not be read.

        Raises:
            ApiError, ConnectionLost: reading failed.
        """
        group, version = split_api_version(api_version)
        if not group:
            return None
        usual = f"{_usual_plural(kind)}.{group}"
        for name in dict.fromkeys((usual, *names)):
            try:
                crd = await self._client.get(CRDS, name)
            except (NotFound, Forbidden, InvalidPath):
                continue
            if _defines(crd, group, version, kind):
                return name
        return None

    async def versions(self, group: str, kind: str) -> tuple[Resource, ...]:
        """Return a kind in each version that serves it, the server's preferred one first."""
        resources = await self.all_resources()
        return tuple(each for each in resources if (each.group, each.kind) == (group, kind))

    async def all_resources(self) -> tuple[Resource, ...]:
        """Read all resources, in each group those of the preferred version first.

        Group versions that cannot be read (an aggregated API server that is down) are skipped and
        logged.
        """
        beside = asyncio.ensure_future(self._client.raw("GET", "/api", accept=_ACCEPT))
        try:
            groups = await self._client.raw("GET", "/apis", accept=_ACCEPT)
            core = await beside
        finally:
            beside.cancel()
        resources: list[Resource] = []
        for index in (core, groups):
            if isinstance(index, dict) and index.get("kind") == "APIGroupDiscoveryList":
                resources += _understood(_aggregated(index))
            else:
                resources += await self._one_by_one(_understood(_listed_versions(index)))
        return tuple(resources)

    async def cluster_scoped(self, *verbs: str) -> tuple[Resource, ...]:
        """Return the cluster-scoped kinds with these verbs, each in its preferred version."""
        by_kind: dict[tuple[str, str], Resource] = {}
        for resource in await self.all_resources():
            if not resource.namespaced and resource.verbs.issuperset(verbs):
                by_kind.setdefault((resource.group, resource.kind), resource)
        return tuple(by_kind.values())

    def invalidate(self, api_version: str | None = None) -> None:
        """Forget one group version, or all: a CRD changed, or a path returned 404."""
        if api_version is None:
            self._cache.clear()
        else:
            self._cache.pop(api_version, None)

    def _cached(self, api_version: str, kind: str) -> Resource | None:
        group_version = self._cache.get(api_version)
        return group_version.kinds.get(kind) if group_version else None

    async def _read(self, api_version: str) -> _GroupVersion:
        group, version = split_api_version(api_version)
        now = next(self._moments)
        try:
            listing = await self._client.raw("GET", group_version_path(group, version))
        except (NotFound, InvalidPath):
            listing = {}
        resources = _understood(_listed_resources(listing, group, version))
        # API versions come from templates of tenants: unknown ones must not fill the memory.
        if len(self._cache) >= _REMEMBERED:
            self._cache = {name: read for name, read in self._cache.items() if read.kinds}
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked()}
        self._cache[api_version] = _GroupVersion({each.kind: each for each in resources}, now)
        return self._cache[api_version]

    async def _one_by_one(self, api_versions: Iterable[str]) -> list[Resource]:
        resources: list[Resource] = []
        for api_version in api_versions:
            group, version = split_api_version(api_version)
            try:
                listing = await self._client.raw("GET", group_version_path(group, version))
                resources += _understood(_listed_resources(listing, group, version))
            except (ApiError, ConnectionLost, InvalidPath) as error:
                log.warning("discovery of %s failed: %s", api_version, error)
        return resources


def _understood(parsing: Iterator[T]) -> list[T]:
    # An aggregated API server may answer with any JSON.
    try:
        return list(parsing)
    except (AttributeError, KeyError, TypeError) as error:
        raise ConnectionLost(f"not a discovery document: {error!r}") from error


def _usual_plural(kind: str) -> str:
    """Return the plural that Kubernetes' own tools guess for a kind."""
    singular = kind.lower()
    if singular.endswith("s"):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"


def _defines(crd: JsonObject, group: str, version: str, kind: str) -> bool:
    """Return whether a CRD serves a kind now or soon.

    It does not while it is being deleted, or if another CRD has its names.
    """
    spec, metadata = crd["spec"], crd["metadata"]
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return (
        spec["group"] == group
        and spec["names"]["kind"] == kind
        and any(each["name"] == version and each["served"] for each in spec["versions"])
        and "deletionTimestamp" not in metadata
        and not any(
            each["type"] == "NamesAccepted" and each["status"] == "False" for each in conditions
        )
    )


def _listed_versions(index: JsonObject) -> Iterator[str]:
    """Yield the group versions of a plain APIVersions or APIGroupList."""
    yield from index.get("versions") or []
    for group in index.get("groups") or []:
        versions = [entry["groupVersion"] for entry in group.get("versions") or []]
        preferred = (group.get("preferredVersion") or {}).get("groupVersion")
        yield from sorted(versions, key=lambda version: version != preferred)


def _listed_resources(listing: JsonObject, group: str, version: str) -> Iterator[Resource]:
    """Yield the resources of a plain APIResourceList."""
    entries: list[JsonObject] = listing.get("resources") or []
    subresources: dict[str, set[str]] = {}
    for entry in entries:
        plural, _, sub = entry["name"].partition("/")
        subresources.setdefault(plural, set()).update({sub} if sub else ())
    for entry in entries:
        if "/" not in entry["name"]:
            yield Resource(
                group=group,
                version=version,
                kind=entry["kind"],
                plural=entry["name"],
                namespaced=bool(entry["namespaced"]),
                verbs=frozenset(entry.get("verbs") or ()),
                subresources=frozenset(subresources[entry["name"]]),
            )


def _aggregated(index: JsonObject) -> Iterator[Resource]:
    """Yield the resources of an APIGroupDiscoveryList."""
    for group in index.get("items") or []:
        name = (group.get("metadata") or {}).get("name") or ""
        for version in group.get("versions") or []:
            if version.get("freshness") == "Stale":
                log.warning("discovery of %s/%s is stale", name, version.get("version"))
            for entry in version.get("resources") or []:
                yield _aggregated_resource(name, version["version"], entry)


def _aggregated_resource(group: str, version: str, entry: Json) -> Resource:
    return Resource(
        group=group,
        version=version,
        kind=(entry.get("responseKind") or {}).get("kind") or "",
        plural=entry["resource"],
        namespaced=entry.get("scope") == "Namespaced",
        verbs=frozenset(entry.get("verbs") or ()),
        subresources=frozenset(sub["subresource"] for sub in entry.get("subresources") or []),
    )
