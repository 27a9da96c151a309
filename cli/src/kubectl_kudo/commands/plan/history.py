"""`kubectl kudo plan history`: shows the last runs of an Instance, and how they ended.

In a pipe the tree of KUDO 0.19 stands above the table of the runs that have ended. On a terminal
the tree has only what the table has not.
"""

from kubectl_kudo.reading.runs import (
    PENDING,
    RUNNING,
    active,
    entries,
    mark_of,
    record_of,
    records,
    status_of,
    word_of,
)
from kubectl_kudo.screens.runs_table import runs_table
from kubectl_kudo.session.arguments import INSTANCE, Args, Flag
from kubectl_kudo.session.blocks import Block, Mark, Node, Prose, Tree
from kubectl_kudo.session.cells import ago, local_time
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import JsonObject, one, show, talk
from kubectl_kudo.session.session import Session, in_session

_FORMATS = ("", "table", "wide", "name", "json", "yaml")


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError("please choose the instance with '--instance=<instanceName>'")
    if args.output not in _FORMATS:
        raise UsageError(f"invalid output format: use {', '.join(_FORMATS[1:-1])} or yaml")
    in_session(args, lambda session: _history(session, args))


async def _history(session: Session, args: Args) -> None:
    """Print the tree and the table, or what `-o` asks for."""
    instance = await session.existing_instance(args.instance)
    match args.output:
        case "json" | "yaml":
            print(one(as_data(instance), args.output), end="")
        case "":
            show(Tree(last_runs(instance)), Prose(), *_table(instance))
        case _:
            if not records(instance):
                talk(f"No run on record for instance {instance['metadata']['name']}.")
            if args.output == "name":
                found = (f"{run.get('plan')}/{run.get('uid')}\n" for run in records(instance))
                print("".join(found), end="")
            else:
                show(*_table(instance, wide=args.output == "wide"))


def _table(instance: JsonObject, *, wide: bool = False) -> list[Block]:
    return [runs_table(instance, wide=wide)] if records(instance) else []


def as_data(instance: JsonObject) -> JsonObject:
    """Return the entry of each plan, and in its `history` the runs of the plan that have ended."""
    found = {plan: dict(entry) for plan, entry in entries(instance).items()}
    for record in records(instance):
        entry = found.setdefault(str(record.get("plan")), {})
        entry.setdefault("history", []).append(record)
    return found


def last_runs(instance: JsonObject) -> list[Node]:
    """Return a line for each plan, sorted by name.

    A terminal has one for all plans that never ran, and none for a run that is in the table.
    """
    known, running = entries(instance), active(instance)
    plans = sorted({*known, *({running.plan} if running else ())})
    nodes = [_node(instance, plan, known.get(plan) or {}) for plan in plans]
    never = [plan for plan, node in zip(plans, nodes, strict=True) if node.mark is None]
    if never:
        nodes.append(Node(f"Never run: {', '.join(never)}", mark=Mark.IDLE, plain=False))
    return nodes


def _node(instance: JsonObject, plan: str, entry: JsonObject) -> Node:
    running, status = active(instance), status_of(entry)
    if running and running.plan == plan:
        begun = (entry.get("uid") or "") == running.uid
        status = status if begun else PENDING
        return Node(f"{plan} (is running ({status}))", [], *_drawn(plan, status))
    if status in RUNNING:
        return Node(f"{plan} (is running ({status}))", [], *_drawn(plan, status))
    ended = local_time(entry.get("lastUpdatedTimestamp"), "%Y-%m-%dT%H:%M:%S")
    if ended:
        shown, mark = _drawn(plan, status, ago(entry["lastUpdatedTimestamp"]))
        in_table = bool(record_of(instance, entry.get("uid") or ""))
        text = f"{plan} (last finished run at {ended} ({status}))"
        return Node(text, [], shown, mark, drawn=not in_table)
    return Node(f"{plan} ({entry.get('status') or 'never run'})", drawn=False)


def _drawn(plan: str, status: str, when: str = "") -> tuple[str, Mark | None]:
    return f"{plan} {word_of(status)} {when}".rstrip(), mark_of(status)


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(
            ("--output", "-o"),
            "table or wide: the runs alone; name, json or yaml: as data",
            "format",
        ),
    ),
    more="The tree has a line for each plan. The table below it has the runs that have ended, the "
    "newest\nfirst: as many as `spec.historyLimit` of the instance says, 10 if it is not set. A "
    "duration includes\nthe time that the instance was suspended; -o wide shows that time, too.\n\n"
    "With -o json or yaml the last run of each plan is printed as data, and in its `history` the "
    "runs\nof the plan that have ended.",
    examples=(
        ("The last run of each plan, and the runs that have ended", "plan history --instance web"),
        ("Only the runs, with messages and whole uids", "plan history --instance web -o wide"),
        ("With phases, steps and messages", "plan history --instance web -o yaml"),
    ),
)
