"""Names of objects in the cluster, and what an Instance's OperatorVersion declares."""

from contextlib import aclosing
from typing import Final

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.session import connect
from kubectl_kudo.shell.kinds import Kind
from kubeio.kinds import NAMESPACES

_MOST: Final = 500
"""Names that are read; nobody chooses among more."""


async def objects(kind: Kind, args: Args) -> list[tuple[str, str]]:
    """Return the names of namespaces, or of Instances with their OperatorVersions."""
    async with connect(args) as session:
        if kind is Kind.NAMESPACE:
            pages = session.client.pages(NAMESPACES, limit=_MOST)
        else:
            pages = session.client.pages(INSTANCES, namespace=session.namespace, limit=_MOST)
        async with aclosing(pages):
            first = await anext(pages)
        return [(obj["metadata"]["name"], _description(obj)) for obj in first.items]


def _description(obj: JsonObject) -> str:
    reference = (obj.get("spec") or {}).get("operatorVersion") or {}
    return str(reference.get("name") or "")


async def spec_of_instance(args: Args) -> JsonObject:
    """Return the spec of the Instance's OperatorVersion; empty if there is none."""
    async with connect(args) as session:
        instance = await session.instance(args.instance)
        version = await session.version_of(instance) if instance else None
    spec: JsonObject = (version or {}).get("spec") or {}
    return spec
