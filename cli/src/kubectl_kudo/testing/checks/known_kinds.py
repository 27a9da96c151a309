"""The kinds that the cluster of a suite serves, and what to write instead of one that it lacks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kubectl_kudo.session.suggestions import closest
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.resource import Resource, split_api_version

_COMPARED = 100
"""Characters of a name that are compared with known ones."""


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


def advice(unknown: Kind, known: Collection[Kind]) -> str:
    """Return which known kind is probably meant; empty if none is alike.

    A kind of the same name comes first: versions and groups change more often than people mistype.
    """
    api_version, kind = unknown
    if kind == "List" and api_version == "v1":
        return "write its items as documents of their own, with --- between them"
    group, _ = split_api_version(api_version)
    same = sorted(one for one, name in known if name == kind)
    if same:
        ours = [one for one in same if split_api_version(one)[0] == group]
        return f"the cluster has {kind} in {' and '.join((ours or same)[:3])}"
    for names in (
        {name for one, name in known if one == api_version},
        {name for _, name in known},
    ):
        for near in closest(kind[:_COMPARED], names):
            where = min(
                (one for one, name in known if name == near), key=lambda one: one != api_version
            )
            return f"did you mean {near}{'' if where == api_version else f' in {where}'}?"
    return ""
