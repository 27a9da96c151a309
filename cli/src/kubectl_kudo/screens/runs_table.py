"""The table of the runs that have ended, newest first."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from kubectl_kudo.reading.runs import (
    FATAL_ERROR,
    TIMED_OUT,
    mark_of,
    message_of,
    records,
    short_uid,
    word_of,
)
from kubectl_kudo.session.blocks import Cell, Column, Mark, Table
from kubectl_kudo.session.cells import (
    UNKNOWN,
    ago,
    cell,
    duration,
    local_time,
    printable,
    seconds_since,
)
from kubectl_kudo.session.output import JsonObject

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
    *(Column(one.heading, kept=one.kept) for one in _COLUMNS[1:]),
    *(Column("FINISHED", kept=True), Column("SUSPENDED"), Column("MESSAGE")),
)


def runs_table(instance: JsonObject, *, wide: bool = False) -> Table:
    """Return the table; on a terminal each run has the number by which others name it there.

    Args:
        instance: The Instance.
        wide: Whether to show all columns, with whole texts.
    """
    found = records(instance)
    if wide:
        return Table(_WIDE, [[*_wide_cells(record)] for record in found])
    numbers = {str(one.get("uid")): f"#{len(found) - index}" for index, one in enumerate(found)}
    return Table(_COLUMNS, [[*_cells(record, instance, numbers)] for record in found], titled=False)


def _cells(record: JsonObject, instance: JsonObject, numbers: Mapping[str, str]) -> Iterator[Cell]:
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
    yield from (Cell(cell(record.get(name))) for name in ("plan", "uid"))
    yield _status(record)
    yield Cell(cell(record.get("reason")))
    yield Cell(cell(local_time(started, _TIME)), ago(started))
    yield Cell(took(record))
    yield from map(Cell, (cell(record.get("operatorVersion")), cell(cause(record))))
    yield Cell(cell(record.get("failedStep")))
    yield Cell(cell(local_time(finished, _TIME)), ago(finished))
    yield from map(Cell, (cell(_suspended(record)), cell(message_of(record))))


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
    seconds = seconds_since(str(record.get("startedAt") or ""), finished.astimezone())
    return UNKNOWN if seconds is None else duration(seconds)


def _suspended(record: JsonObject) -> str:
    seconds = record.get("suspendedSeconds")
    return duration(seconds) if seconds else ""


def cause(record: JsonObject) -> str:
    """Return what asked for a run: a retry, parameters, the parent, and the user."""
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
    found = record.get("cause") or {}
    if retried := str(found.get("retryOf") or ""):
        begin = f" from {found['from']}" if found.get("from") else ""
        yield f"retry of {numbers.get(retried, short_uid(retried))}{begin}"
    if found.get("parameters"):
        more = found.get("parametersLeftOut")
        names = f"{', '.join(found['parameters'])}{f' and {more} more' if more else ''}"
        yield changed.format(names)
    if found.get("parent"):
        yield f"parent {found['parent']}"
    if found.get("requestedBy"):
        yield user.format(found["requestedBy"])
