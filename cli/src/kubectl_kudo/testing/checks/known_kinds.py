"""The kinds that the cluster of a suite serves."""

from collections.abc import Mapping
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.resource import Resource

Kind = tuple[str, str]
"""apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of a cluster, as discovery tells them before a run.

    Attributes:
        served: By apiVersion and kind.
    """

    served: Mapping[Kind, Resource]

    def find(self, api_version: object, kind: object) -> Resource | None:
        """Return the resource of a kind, or None if it is not served."""
        return self.served.get((str(api_version), str(kind)))


async def known_kinds(client: Client) -> Kinds:
    """Return the kinds that a cluster serves.

    Raises:
        KubeError: discovery failed.
    """
    found = await Discovery(client).all_resources()
    return Kinds({(one.api_version, one.kind): one for one in found})
