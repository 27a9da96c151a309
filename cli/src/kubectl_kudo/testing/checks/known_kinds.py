"""The kinds that the cluster of a suite serves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import UnknownKind
from kubeio.resource import Resource

Kind = tuple[str, str]
"""apiVersion and kind."""


@dataclass(slots=True)
class Kinds:
    """The kinds of a cluster, as they were read last; one instance is shared by all cases.

    Attributes:
        discovery: Reads kinds that were not known.
        served: By apiVersion and kind.
    """

    discovery: Discovery
    served: dict[Kind, Resource] = field(default_factory=dict)

    async def refresh(self) -> None:
        """Read all kinds again, since CRDs came or went.

        Raises:
            KubeError: discovery failed.
        """
        self.discovery.invalidate()
        self.served = _by_kind(await self.discovery.all_resources())

    def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind that was served when kinds were read last.

        Raises:
            UnknownKind: it was not.
        """
        found = self.served.get((api_version, kind))
        if found is None:
            raise UnknownKind(api_version, kind)
        return found

    async def resolve(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind, and ask the server for one that is not known yet.

        Asks at most once a second for each group version, so it may be called in each round.

        Raises:
            UnknownKind: the server does not serve it.
            KubeError: discovery failed.
        """
        found = self.served.get((api_version, kind))
        if found is None:
            found = await self.discovery.resolve(api_version, kind)
            self.served[api_version, kind] = found
        return found

    def versions(self, group: str, kind: str) -> Iterator[str]:
        """Yield the versions of a group that serve a kind, the preferred one first."""
        for one in self.served.values():
            if one.group == group and one.kind == kind:
                yield one.api_version


async def known_kinds(client: Client) -> Kinds:
    """Return the kinds that a cluster serves.

    Raises:
        KubeError: discovery failed.
    """
    kinds = Kinds(Discovery(client))
    await kinds.refresh()
    return kinds


def _by_kind(resources: Iterable[Resource]) -> dict[Kind, Resource]:
    found: dict[Kind, Resource] = {}
    for one in resources:
        found.setdefault((one.api_version, one.kind), one)
    return found
