"""Lists Operators, OperatorVersions and Instances, as a tree or as data."""

import asyncio
from collections.abc import Iterable

from kubectl_kudo.core.kinds import INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.core.output import JsonObject, many, without_bookkeeping
from kubectl_kudo.core.session import Session
from kubectl_kudo.core.tree import Node, draw
from kubeio.resource import Resource

KINDS = {
    "instances": (INSTANCES,),
    "operators": (OPERATORS,),
    "operatorversions": (OPERATOR_VERSIONS,),
    "all": (OPERATORS, OPERATOR_VERSIONS, INSTANCES),
}


async def get(session: Session, what: str, output: str) -> None:
    """Print the objects as a tree of names, or as they are."""
    lists = await asyncio.gather(*(_objects(session, kind) for kind in KINDS[what]))
    if output:
        objects = (without_bookkeeping(obj) for found in lists for obj in found)
        print(many(objects, output), end="")
        return
    nodes = family(*lists) if what == "all" else [Node(_name(obj)) for obj in lists[0]]
    title = "operators including versions and instances" if what == "all" else what
    print(f'List of current installed {title} in namespace "{session.namespace}":')
    print(draw(nodes))


async def _objects(session: Session, kind: Resource) -> list[JsonObject]:
    return (await session.client.list(kind, namespace=session.namespace)).items


def family(
    operators: Iterable[JsonObject],
    versions: Iterable[JsonObject],
    instances: Iterable[JsonObject],
) -> list[Node]:
    """Return operators, their versions below them, and below those their instances.

    A parent that does not exist is shown as missing, so that no object goes unseen.
    """
    roots = {_name(operator): Node(_name(operator)) for operator in operators}
    known: dict[str, Node] = {}
    for version in versions:
        operator = (version["spec"].get("operator") or {}).get("name") or "?"
        parent = roots.setdefault(operator, Node(f"{operator} (missing)"))
        known[_name(version)] = parent.add(_name(version))
    orphans: dict[str, Node] = {}
    for instance in instances:
        name, where = _version_of(instance)
        text = f"{name} ({where or 'missing'})"
        here = known.get(name) if not where else None
        (here or orphans.setdefault(text, Node(text))).add(_name(instance))
    return [*roots.values(), *orphans.values()]


def _version_of(instance: JsonObject) -> tuple[str, str]:
    """Return the OperatorVersion's name, and where it is if not in the same namespace."""
    reference = instance["spec"].get("operatorVersion") or {}
    namespace = reference.get("namespace") or instance["metadata"]["namespace"]
    here = namespace == instance["metadata"]["namespace"]
    return reference.get("name") or "?", "" if here else f"in namespace {namespace}"


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])
