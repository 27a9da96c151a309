"""Names of objects in the cluster, and what an Instance's OperatorVersion declares."""

from contextlib import aclosing
from typing import Final

from kubectl_kudo.completion.kinds import Kind
from kubectl_kudo.reading.runs import entries, last_executed, status_of
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.kinds import BY_WORD, INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import connect
from kubeio.kinds import NAMESPACES
from kubeio.resource import Resource

_MOST: Final = 500
"""Names that are returned, and that a page has; nobody chooses among more."""


async def objects(kind: Kind, args: Args, prefix: str) -> list[tuple[str, str]]:
    """Return the names of objects; those of Instances with their OperatorVersions.

    Args:
        kind: What to name.
        args: The command line, for the connection and the namespace.
        prefix: What the names start with. The API server cannot select by it, so pages are read
            until there are enough.
    """
    resource = _resource(kind, args)
    if resource is None:
        return []
    async with connect(args) as session:
        pages = session.client.pages(
            resource,
            namespace=session.namespace if resource.namespaced else None,
            limit=_MOST,
            # Only of an Instance more is shown, and an OperatorVersion may have 1 MB.
            metadata_only=resource != INSTANCES,
        )
        found: list[tuple[str, str]] = []
        async with aclosing(pages):
            async for page in pages:
                named = ((obj["metadata"]["name"], _description(obj)) for obj in page.items)
                found += (one for one in named if one[0].startswith(prefix))
                if len(found) >= _MOST:
                    break
        return found[:_MOST]


def _resource(kind: Kind, args: Args) -> Resource | None:
    match kind:
        case Kind.NAMESPACE:
            return NAMESPACES
        case Kind.OBJECT:
            return BY_WORD.get(args.arguments[0])
        case _:
            return INSTANCES


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


async def steps_of_run(args: Args) -> list[tuple[str, str]]:
    """Return the steps of the last run of a plan as `phase.step`, with their states.

    The plan is that of `--name`, else the one that ran last.
    """
    async with connect(args) as session:
        instance = await session.instance(args.instance) or {}
    entry = entries(instance).get(args.name or last_executed(instance) or "") or {}
    return [
        (f"{phase.get('name')}.{step.get('name')}", status_of(step))
        for phase in entry.get("phases") or []
        for step in phase.get("steps") or []
    ]
