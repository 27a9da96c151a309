"""What `kubectl kudo describe` shows."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_kudo.reading.description import Description
from kubectl_kudo.reading.instance_state import (
    account_name,
    condition,
    flags_of,
    is_deleting,
    is_suspended,
    last_plan,
    not_in_force,
    orphans_of,
    owner_name,
    suspension,
    version_key,
)
from kubectl_kudo.reading.owned import Member, OwnedObject
from kubectl_kudo.reading.runs import (
    FATAL_ERROR,
    at_fault,
    condition_cell,
    key_of,
    message_of,
    run_facts,
    state_cell,
    status_of,
)
from kubectl_kudo.session.blocks import (
    NONE,
    Block,
    Cell,
    Column,
    Mark,
    Node,
    Prose,
    Section,
    Table,
    Tree,
    age,
    cell,
    printable,
    since,
)
from kubectl_kudo.session.output import JsonObject
from kudo.api.task_errors import cause_in

_LONGEST_VALUE = 60
_MOST_SIBLINGS = 20
"""Objects of one owner that are shown; a StatefulSet may have thousands of pods."""
_MOST_ORPHANS = 5
_MOST_KINDS = 5
"""Kinds that are named; users of one namespace may list none of the cluster."""
_HIDDEN = "<hidden>"
_PLAN_COLUMNS: Final = (
    "NAME",
    Column("STATUS", kept=True),
    Column("UPDATED", kept=True),
    "MESSAGE",
)
_EVENT_COLUMNS: Final[tuple[Column | str, ...]] = (
    *(Column(heading, kept=True) for heading in ("LAST SEEN", "TYPE", "REASON")),
    "OBJECT",
    Column("MESSAGE", kept=True),
)
_EVENT_MARKS = {"Warning": Mark.WARNING}


def blocks_of(description: Description, now: datetime) -> list[Block]:
    """Return what is shown, with a blank line between sections."""
    sections = [
        _head(description, now),
        Section("Parameters", _parameters(description)),
        Section("Plans", Table(_PLAN_COLUMNS, [*_plans(description, now)])),
        Section("Children", Tree([*map(_child, description.children)], root="")),
        Section("Objects", Tree(_objects(description, now), root="")),
        Section("Events", Table(_EVENT_COLUMNS, [*_events(description, now)])),
        *_unlisted(description),
    ]
    return [block for section in sections for block in (Prose(), section)][1:]


def _head(description: Description, now: datetime) -> Table:
    metadata, instance = description.metadata, description.instance
    rows: dict[str, str | Cell] = {
        "Name": metadata["name"],
        "Namespace": metadata["namespace"],
        "Operator": cell(description.operator),
        "Version": _version(description),
        "Operator version": _version_name(description),
        "Parent": cell(owner_name(instance)),
        **({"Account": cell(account)} if (account := account_name(instance)) else {}),
        "Age": age(metadata, now),
        "Ready": condition_cell(_ready(instance), str(condition(instance).get("status"))),
        "Scheduled plan": cell(description.scheduled),
        **({"Suspended": suspension(instance)} if is_suspended(instance) else {}),
        **({"Not in force": waiting} if (waiting := not_in_force(instance)) else {}),
        **({"Sources": text} if (text := "; ".join(map(str, description.sources))) else {}),
        **({"Orphans": text} if (text := _orphans(instance)) else {}),
    }
    columns = ("", Column("", kept=True))
    return Table(columns, [(f"{name}:", text) for name, text in rows.items()], headers=False)


def _orphans(instance: JsonObject) -> str:
    orphans, rest = orphans_of(instance)
    if not orphans:
        return ""
    shown = [printable(f"{obj.get('kind')}/{obj.get('name')}") for obj in orphans[:_MOST_ORPHANS]]
    more = len(orphans) - len(shown) + rest
    names = f"{', '.join(shown)}{f' and {more} more' if more else ''}"
    return f"{names} (kubectl kudo prune {flags_of(key_of(instance))})"


def _version(description: Description) -> str:
    if description.version is None:
        return NONE
    app = description.version_spec.get("appVersion")
    text = cell(description.version_spec.get("version"))
    return f"{text} (app version {printable(str(app))})" if app else text


def _version_name(description: Description) -> str:
    namespace, name = version_key(description.instance)
    where = "" if namespace == description.metadata["namespace"] else f" in namespace {namespace}"
    missing = "" if description.version is not None else " (missing)"
    return f"{cell(name)}{where}{missing}"


def _ready(instance: JsonObject) -> str:
    ready = condition(instance)
    text = cell(ready.get("status"))
    if ready.get("reason"):
        message = printable(message_of(ready))
        text = f"{text} ({ready['reason']}{f': {message}' if message else ''})"
    return f"{text}, being deleted" if is_deleting(instance) else text


def _parameters(description: Description) -> Table:
    bounds = [parameter.bounds for parameter in description.parameters]
    rows = [
        (*row, *([printable(text, _LONGEST_VALUE)] if any(bounds) else []))
        for row, text in zip(_values(description), bounds, strict=True)
    ]
    return Table(("NAME", "VALUE", "SOURCE", *(["BOUNDS"] if any(bounds) else [])), rows)


def _values(description: Description) -> Iterator[Sequence[str]]:
    for parameter in description.parameters:
        if parameter.reference is not None:
            value = printable(str(parameter.reference), _LONGEST_VALUE)
        elif parameter.value is None:
            value = NONE
        elif parameter.is_secret:
            value = _HIDDEN
        else:
            value = printable(parameter.value, _LONGEST_VALUE) or '""'
        yield printable(parameter.name), value, parameter.source


def _plans(description: Description, now: datetime) -> Iterator[Sequence[Cell | str]]:
    for name, entry in description.plans():
        state, facts = description.plan_state(name, entry), run_facts(description.instance, entry)
        updated = entry.get("lastUpdatedTimestamp")
        # The entry of a failed plan says that it failed, its step why.
        failed = status_of(entry) == FATAL_ERROR
        yield (
            printable(name),
            state_cell(state, f" ({', '.join(facts)})" if facts else ""),
            f"{since(str(updated), now)} ago" if updated else NONE,
            printable(at_fault(name, entry)[1] if failed else message_of(entry)),
        )


def _child(member: Member) -> Node:
    plan, state = last_plan(member.instance)
    ready = (
        "being deleted"
        if is_deleting(member.instance)
        else "ready: " + cell(condition(member.instance).get("status"))
    )
    run = f"{plan} {state}" if plan else "no plan ran"
    name, version = member.instance["metadata"]["name"], version_key(member.instance)[1]
    return Node(f"{name} ({cell(version)}, {run}, {ready})", [*map(_child, member.children)])


def _objects(description: Description, now: datetime) -> list[Node]:
    uids = {obj.metadata.get("uid") for obj in description.objects}
    owned: dict[object, list[OwnedObject]] = defaultdict(list)
    for obj in description.objects:
        # Most are owned by the Instance itself, or by an object that no label leads to.
        above = (owner.get("uid") for owner in obj.owners() if owner.get("uid") in uids)
        owned[next(above, None)].append(obj)

    def node(obj: OwnedObject) -> Node:
        below = owned.get(obj.metadata.get("uid"), [])
        nodes = [node(child) for child in below[:_MOST_SIBLINGS]]
        if len(below) > _MOST_SIBLINGS:
            nodes.append(Node(f"… {len(below) - _MOST_SIBLINGS} more; -o json has all"))
        facts = [obj.step, age(obj.metadata, now)]
        if "deletionTimestamp" in obj.metadata:
            facts.append("being deleted")
        return Node(f"{obj.kind.kind}/{obj.name} ({', '.join(filter(None, facts))})", nodes)

    return [node(obj) for obj in owned[None]]


def _events(description: Description, now: datetime) -> Iterator[Sequence[Cell | str]]:
    for event in description.events:
        yield (
            since(event.time, now) + (f" (x{event.count})" if event.count > 1 else ""),
            Cell(printable(event.type), mark=_EVENT_MARKS.get(event.type)),
            printable(event.reason),
            printable(event.about),
            printable(cause_in(event.message)),
        )


def _unlisted(description: Description) -> list[Block]:
    if not description.unlisted:
        return []
    shown = ", ".join(description.unlisted[:_MOST_KINDS])
    rest = len(description.unlisted) - _MOST_KINDS
    more = f" and {rest} more; -o json has all" if rest > 0 else ""
    return [Prose(f"Not shown, since they could not be listed: {shown}{more}")]
