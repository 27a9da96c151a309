"""The tree of `get` as KUDO 0.19 prints it: names, and for `all` Instances below their versions."""

from collections.abc import Iterable, Sequence

from kubectl_kudo.reading.instance_fields import version_key
from kubectl_kudo.session.blocks import Block, Mark, Node, Prose, Tree
from kubectl_kudo.session.output import JsonObject
from kubeio.resource import Resource

_ALL = "operators including versions and instances"


def tree_of(
    kinds: Sequence[Resource], lists: Sequence[Sequence[JsonObject]], namespace: str | None
) -> list[Block]:
    """Return the heading and the tree.

    Args:
        kinds: The kinds that are shown.
        lists: The objects of each kind.
        namespace: Where; None for all namespaces, which are then shown above their objects.
    """
    title = kinds[0].plural if len(kinds) == 1 else _ALL
    where = f'in namespace "{namespace}"' if namespace is not None else "in all namespaces"
    nodes = _nodes(lists) if namespace is not None else _by_namespace(lists)
    return [Prose(f"List of current installed {title} {where}:"), Tree(nodes), Prose()]


def _by_namespace(lists: Sequence[Sequence[JsonObject]]) -> list[Node]:
    spaces = sorted({_namespace(obj) for found in lists for obj in found})
    return [
        Node(space, _nodes([[obj for obj in found if _namespace(obj) == space] for found in lists]))
        for space in spaces
    ]


def _nodes(lists: Sequence[Sequence[JsonObject]]) -> list[Node]:
    return family(*lists) if len(lists) > 1 else [Node(_name(obj)) for obj in lists[0]]


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
        parent = roots.setdefault(operator, Node(f"{operator} (missing)", mark=Mark.WARNING))
        known[_name(version)] = node = Node(_name(version))
        parent.children.append(node)
    orphans: dict[str, Node] = {}
    for instance in instances:
        name, where = _version_of(instance)
        text = f"{name} ({where or 'missing'})"
        here = known.get(name) if not where else None
        missing = None if where else Mark.WARNING
        parent = here or orphans.setdefault(text, Node(text, mark=missing))
        parent.children.append(Node(_name(instance)))
    return [*roots.values(), *orphans.values()]


def _version_of(instance: JsonObject) -> tuple[str, str]:
    """Return the OperatorVersion's name, and where it is if not in the same namespace."""
    namespace, name = version_key(instance)
    here = namespace == _namespace(instance)
    return name or "?", "" if here else f"in namespace {namespace}"


def _namespace(obj: JsonObject) -> str:
    return str(obj["metadata"]["namespace"])


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])
