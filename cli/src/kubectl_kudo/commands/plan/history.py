"""`kubectl kudo plan history`: shows the last runs of an Instance, and how they ended.

In a pipe the tree of KUDO 0.19 stands above the table of the runs that have ended. On a terminal
the tree has only what the table has not.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from kubectl_kudo.reading.runs import (
    FATAL_ERROR,
    PENDING,
    RUNNING,
    TIMED_OUT,
    active,
    entries,
    given_text,
    mark_of,
    message_of,
    record_of,
    records,
    short_uid,
    status_of,
    word_of,
)
from kubectl_kudo.session.arguments import INSTANCE, Args, Flag
from kubectl_kudo.session.blocks import (
    UNKNOWN,
    Block,
    Cell,
    Column,
    Mark,
    Node,
    Prose,
    Table,
    Tree,
    ago,
    cell,
    duration,
    local_time,
    printable,
    seconds_since,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import JsonObject, one, show, talk
from kubectl_kudo.session.session import Session, in_session

_LONGEST = 60
"""Characters of a cell that is not wide."""
_TIME = "%Y-%m-%dT%H:%M:%S"
_ENDS = {
    "PlanCancelled": (Mark.BAD, "cancelled"),
    "PlanSuperseded": (Mark.IDLE, "superseded"),
    TIMED_OUT: (Mark.BAD, "timed out"),
}
"""What a terminal shows of a run, by the reason of its end."""
_COLUMNS = (
    Column("RUN", plain=False),
    Column("PLAN", kept=True),
    Column("UID", drawn=False),
    Column("STATUS", kept=True),
    Column("REASON", drawn=False),
    Column("STARTED", kept=True),
    Column("DURATION", kept=True),
    Column("VERSION"),
    Column("CAUSE", kept=True),
    Column("FAILED STEP"),
)
_WIDE = (
    *(Column(column.heading, kept=column.kept) for column in _COLUMNS[1:]),
    *(Column("FINISHED", kept=True), Column("SUSPENDED"), Column("MESSAGE")),
)


def runs_table(instance: JsonObject, *, wide: bool = False) -> Table:
    """Return the table; on a terminal each run has the number by which others name it there.

    Args:
        instance: The Instance.
        wide: Whether to show all columns, with whole texts.
    """
    runs = records(instance)
    if wide:
        return Table(_WIDE, [[*_wide_cells(record)] for record in runs])
    # The oldest on record is #1: retries name others by number, and uids are long.
    numbers = {str(run.get("uid")): f"#{len(runs) - index}" for index, run in enumerate(runs)}
    return Table(_COLUMNS, [[*_cells(run, instance, numbers)] for run in runs], titled=False)


def _cells(record: JsonObject, instance: JsonObject, numbers: Mapping[str, str]) -> Iterator[Cell]:
    # Most Instances use a version of their own namespace: repeating that says nothing.
    own = f"{instance['metadata']['namespace']}/"
    uid, step = str(record.get("uid") or ""), record.get("failedStep")
    version = str(record.get("operatorVersion") or "").removeprefix(own)
    started = record.get("startedAt")
    yield Cell(numbers[uid])
    yield _short(record.get("plan"))
    yield _short(short_uid(uid))
    yield _status(record)
    yield _short(record.get("reason"))
    yield Cell(_short(local_time(started, _TIME)).text, ago(started))
    yield Cell(took(record))
    yield _short(version)
    yield Cell(_short(cause(record)).text, printable(drawn_cause(record, numbers)) or " ")
    yield Cell(_short(step).text, f"at {_short(step).text}" if step else " ")


def _wide_cells(record: JsonObject) -> Iterator[Cell]:
    started, finished = record.get("startedAt"), record.get("finishedAt")
    suspended = record.get("suspendedSeconds")
    yield from (Cell(cell(record.get(name))) for name in ("plan", "uid"))
    yield _status(record)
    yield Cell(cell(record.get("reason")))
    yield Cell(cell(local_time(started, _TIME)), ago(started))
    yield Cell(took(record))
    yield from map(Cell, (cell(record.get("operatorVersion")), cell(cause(record))))
    yield Cell(cell(record.get("failedStep")))
    yield Cell(cell(local_time(finished, _TIME)), ago(finished))
    yield Cell(cell(duration(suspended) if suspended else ""))
    yield Cell(cell(message_of(record)))


def _short(value: object) -> Cell:
    return Cell(printable(cell(value), _LONGEST))


def _status(record: JsonObject) -> Cell:
    status, reason = str(record.get("status") or ""), str(record.get("reason") or "")
    word = f"{word_of(status)}: {reason}" if status == FATAL_ERROR and reason else word_of(status)
    mark, shown = _ENDS.get(reason, (mark_of(status), printable(word, _LONGEST)))
    return Cell(_short(status).text, shown, mark)


def took(record: JsonObject) -> str:
    """Return how long a run took, suspended time included."""
    try:
        finished = datetime.fromisoformat(str(record.get("finishedAt") or ""))
    except ValueError:
        return UNKNOWN
    # Both are times of the API server, so the clock of this machine does not count.
    seconds = seconds_since(str(record.get("startedAt") or ""), finished.astimezone())
    return UNKNOWN if seconds is None else duration(seconds)


def cause(record: JsonObject) -> str:
    """Return what asked for a run: a retry, parameters, those of the run, the parent, the user."""
    return ", ".join(_causes(record, {}, changed="parameters {}", user="user {}"))


def drawn_cause(record: JsonObject, numbers: Mapping[str, str]) -> str:
    """Return the same as a terminal shows it, such as `image changed by jane`.

    Args:
        record: The run.
        numbers: Those of the table by the uid of the run.
    """
    return " ".join(_causes(record, numbers, changed="{} changed", user="by {}"))


def _causes(
    record: JsonObject, numbers: Mapping[str, str], *, changed: str, user: str
) -> Iterator[str]:
    reasons = record.get("cause") or {}
    if retried := str(reasons.get("retryOf") or ""):
        begin = f" from {reasons['from']}" if reasons.get("from") else ""
        yield f"retry of {numbers.get(retried, short_uid(retried))}{begin}"
    if reasons.get("parameters"):
        more = reasons.get("parametersLeftOut")
        names = f"{', '.join(reasons['parameters'])}{f' and {more} more' if more else ''}"
        yield changed.format(names)
    left_out = int(record.get("runParametersLeftOut") or 0)
    if given := given_text(record.get("runParameters"), left_out):
        yield f"with {given}"
    if reasons.get("parent"):
        yield f"parent {reasons['parent']}"
    if reasons.get("requestedBy"):
        yield user.format(reasons["requestedBy"])


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
                # On stderr: a script that reads stdout finds it empty.
                talk(f"No run on record for instance {instance['metadata']['name']}.")
            if args.output == "name":
                for run in records(instance):
                    print(f"{run.get('plan')}/{run.get('uid')}")
            else:
                show(*_table(instance, wide=args.output == "wide"))


def _table(instance: JsonObject, *, wide: bool = False) -> list[Block]:
    return [runs_table(instance, wide=wide)] if records(instance) else []


def as_data(instance: JsonObject) -> JsonObject:
    """Return the entry of each plan, and in its `history` the runs of the plan that have ended."""
    plans = {plan: dict(entry) for plan, entry in entries(instance).items()}
    for record in records(instance):
        entry = plans.setdefault(str(record.get("plan")), {})
        entry.setdefault("history", []).append(record)
    return plans


def last_runs(instance: JsonObject) -> list[Node]:
    """Return a line for each plan, sorted by name.

    A terminal has one for all plans that never ran, and none for a run that is in the table.
    """
    recorded, running = entries(instance), active(instance)
    plans = sorted({*recorded, *({running.plan} if running else ())})
    nodes = [_node(instance, plan, recorded.get(plan) or {}) for plan in plans]
    never = [plan for plan, node in zip(plans, nodes, strict=True) if node.mark is None]
    if never:
        nodes.append(Node(f"Never run: {', '.join(never)}", mark=Mark.IDLE, plain=False))
    return nodes


def _node(instance: JsonObject, plan: str, entry: JsonObject) -> Node:
    running, status = active(instance), status_of(entry)
    if running and running.plan == plan:
        # The entry may still be that of the run before, whose end would be told as this one's.
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
