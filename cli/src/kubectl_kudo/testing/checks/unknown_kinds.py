"""Says what to write instead of a kind that the cluster does not have."""

from collections.abc import Collection

from kubectl_kudo.core.suggestions import closest
from kubectl_kudo.testing.checks.known_kinds import Kind
from kubeio.resource import split_api_version

_COMPARED = 100
"""Characters of a name that are compared with known ones."""


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
