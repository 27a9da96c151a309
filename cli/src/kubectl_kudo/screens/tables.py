"""Tables of Operators, OperatorVersions and Instances, and the tree of `get` as in KUDO 0.19.

What a cell of an Instance says is true also where no reconciler runs: see `instance_state`. An
Instance that is being deleted is not shown as ready.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kubectl_kudo.reading.instance_state import (
    Key,
    account_name,
    condition,
    is_deleting,
    is_suspended,
    last_plan,
    owner_name,
    version_key,
)
from kubectl_kudo.reading.runs import condition_cell, entries, short_uid, state_cell
from kubectl_kudo.session.blocks import (
    NONE,
    UNKNOWN,
    Block,
    Cell,
    Column,
    Mark,
    Node,
    Prose,
    Table,
    Tree,
    age,
    cell,
    since,
)
from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject, reference
from kubeio.resource import Resource
from kudo.api.names import LABEL_OPERATOR

_DELETING = "Deleting"


@dataclass(frozen=True, slots=True)
class Context:
    """What cells say about an object that the object itself does not.

    Attributes:
        now: The time that ages are counted to.
        versions: OperatorVersions, None for one that does not exist; one that could not be read is
            left out.
        operators: The Operators that exist; None if that is not known.
    """

    now: datetime
    versions: Mapping[Key, JsonObject | None] = field(default_factory=dict)
    operators: frozenset[Key] | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """A column; those that are `wide` appear with `-o wide` only.

    One that is `rare` appears only if an object has something in it, so that tables of objects
    that do not use the field have the columns that they always had. One that is `kept` is there on
    a terminal also if all objects have the same in it.
    """

    heading: str
    cell: Callable[[JsonObject, Context], Cell | str]
    wide: bool = False
    rare: bool = False
    kept: bool = False

    def is_shown(self, objects: Iterable[JsonObject], context: Context, style: "Style") -> bool:
        if self.wide and not style.wide:
            return False
        return not self.rare or any(self.cell(obj, context) != NONE for obj in objects)


def ready(instance: JsonObject) -> str:
    """Return the status of the condition Ready, or that the Instance is being deleted."""
    if is_deleting(instance):
        return _DELETING
    return cell(condition(instance).get("status"))


def _plan_status(instance: JsonObject, _: Context) -> Cell:
    return state_cell(cell(last_plan(instance)[1]))


def operator_name(instance: JsonObject, context: Context) -> str:
    """Return the operator of an Instance, from its OperatorVersion, last run or label."""
    version = context.versions.get(version_key(instance)) or {}
    run = (instance.get("status") or {}).get("lastRun") or {}
    labels = instance["metadata"].get("labels") or {}
    # The version may be deleted, KUDO 0.19 wrote no lastRun, and anybody may change the label.
    return cell(
        _in(version, "spec", "operator", "name")
        or run.get("operator")
        or labels.get(LABEL_OPERATOR)
    )


def _version(instance: JsonObject, context: Context) -> str:
    key = version_key(instance)
    if key not in context.versions:
        return UNKNOWN
    version = context.versions[key]
    if version is None:
        return f"{key[1] or NONE} (missing)"
    return cell(_in(version, "spec", "version"))


def _app_version(instance: JsonObject, context: Context) -> str:
    version = context.versions.get(version_key(instance)) or {}
    return cell(_in(version, "spec", "appVersion"))


def _suspended(instance: JsonObject, context: Context) -> str:
    """Return for how long an Instance has been suspended."""
    if not is_suspended(instance):
        return NONE
    return since(str(_in(instance, "status", "suspendedAt") or ""), context.now)


def _retry_of(instance: JsonObject, _: Context) -> str:
    entry = entries(instance).get(last_plan(instance)[0]) or {}
    return cell(short_uid(entry.get("retryOf") or ""))


def _operator_of(version: JsonObject, context: Context) -> str:
    name = _in(version, "spec", "operator", "name")
    key = version["metadata"].get("namespace", ""), str(name)
    missing = bool(name) and context.operators is not None and key not in context.operators
    return cell(name) + (" (missing)" if missing else "")


def _in(obj: JsonObject, *path: str) -> object:
    """Return a field, None if it or one above it is missing."""
    value: object = obj
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _field(*path: str) -> Callable[[JsonObject, Context], str]:
    return lambda obj, _: cell(_in(obj, *path))


_AGE = _Column("AGE", lambda obj, context: age(obj["metadata"], context.now), kept=True)
_COLUMNS: Mapping[Resource, tuple[_Column, ...]] = {
    OPERATORS: (
        _Column("URL", _field("spec", "url")),
        _AGE,
        _Column("DESCRIPTION", _field("spec", "description"), wide=True),
    ),
    OPERATOR_VERSIONS: (
        _Column("OPERATOR", _operator_of),
        _Column("VERSION", _field("spec", "version")),
        _Column("APP VERSION", _field("spec", "appVersion")),
        _AGE,
    ),
    INSTANCES: (
        _Column("OPERATOR", operator_name),
        _Column("VERSION", _version),
        _Column("LAST PLAN", lambda obj, _: cell(last_plan(obj)[0])),
        _Column("PLAN STATUS", _plan_status, kept=True),
        _Column("READY", lambda obj, _: condition_cell(ready(obj)), kept=True),
        _AGE,
        _Column("APP VERSION", _app_version, wide=True),
        _Column("OPERATOR VERSION", lambda obj, _: cell(version_key(obj)[1]), wide=True),
        _Column("REASON", lambda obj, _: cell(condition(obj).get("reason")), wide=True),
        _Column("PARENT", lambda obj, _: cell(owner_name(obj)), wide=True),
        _Column("ACCOUNT", lambda obj, _: cell(account_name(obj)), wide=True, rare=True),
        _Column("SUSPENDED", _suspended, wide=True, rare=True),
        _Column("RETRY OF", _retry_of, wide=True, rare=True),
    ),
}


@dataclass(frozen=True, slots=True)
class Style:
    """How tables look.

    Attributes:
        wide: Whether they have all columns.
        namespaces: Whether they have the column of the namespace.
        references: Whether names are those of kubectl, with the kind.
        headers: Whether they have a first line.
    """

    wide: bool = False
    namespaces: bool = False
    references: bool = False
    headers: bool = True


PLAIN = Style()


def table_of(
    kind: Resource, objects: Iterable[JsonObject], context: Context, style: Style = PLAIN
) -> Table:
    """Return a table of objects of one kind."""
    objects = list(objects)
    shown = [column for column in _COLUMNS[kind] if column.is_shown(objects, context, style)]
    columns: list[Column | str] = [
        *(["NAMESPACE"] if style.namespaces else []),
        Column("NAME", kind.kind.upper() if style.references else "", kept=True),
        *(Column(column.heading, kept=column.kept) for column in shown),
    ]

    def cells(obj: JsonObject) -> Iterator[Cell | str]:
        name = obj["metadata"]["name"]
        if style.namespaces:
            yield obj["metadata"].get("namespace", "")
        yield Cell(reference(obj), name) if style.references else name
        yield from (column.cell(obj, context) for column in shown)

    return Table(columns, [[*cells(obj)] for obj in objects], headers=style.headers)


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
    if namespace is not None:
        nodes = _nodes(lists)
    else:
        nodes = [
            Node(
                space, _nodes([[o for o in objects if _namespace(o) == space] for objects in lists])
            )
            for space in sorted({_namespace(obj) for objects in lists for obj in objects})
        ]
    return [Prose(f"List of current installed {title} {where}:"), Tree(nodes), Prose()]


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
    nodes: dict[str, Node] = {}
    for version in versions:
        operator = (version["spec"].get("operator") or {}).get("name") or "?"
        parent = roots.setdefault(operator, Node(f"{operator} (missing)", mark=Mark.WARNING))
        nodes[_name(version)] = node = Node(_name(version))
        parent.children.append(node)
    orphans: dict[str, Node] = {}
    for instance in instances:
        namespace, name = version_key(instance)
        if namespace == _namespace(instance):
            text, mark, node_of_version = f"{name or '?'} (missing)", Mark.WARNING, nodes.get(name)
        else:
            # Versions of other namespaces are not listed, so whether it exists is not known.
            text, mark, node_of_version = f"{name or '?'} (in namespace {namespace})", None, None
        above = node_of_version or orphans.setdefault(text, Node(text, mark=mark))
        above.children.append(Node(_name(instance)))
    return [*roots.values(), *orphans.values()]


def _namespace(obj: JsonObject) -> str:
    return str(obj["metadata"]["namespace"])


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])
