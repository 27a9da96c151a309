"""The table of the runs that have ended, newest first."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubectl_kudo.core.cells import UNKNOWN, cell, duration, local_time, printable, seconds_since
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.table import columns
from kubectl_kudo.state.runs import message_of, records, short_uid

_LONGEST = 60
"""Characters of a cell that is not wide."""
_TIME = "%Y-%m-%dT%H:%M:%S"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column; those that are `wide` appear with `-o wide` only."""

    heading: str
    cell: Callable[[JsonObject], object]
    wide: bool = False


_COLUMNS = (
    _Column("PLAN", lambda record: record.get("plan")),
    _Column("UID", lambda record: record.get("uid")),
    _Column("STATUS", lambda record: record.get("status")),
    _Column("REASON", lambda record: record.get("reason")),
    _Column("STARTED", lambda record: local_time(record.get("startedAt"), _TIME)),
    _Column("DURATION", lambda record: took(record)),
    _Column("VERSION", lambda record: record.get("operatorVersion")),
    _Column("CAUSE", lambda record: cause(record)),
    _Column("FAILED STEP", lambda record: record.get("failedStep")),
    _Column("FINISHED", lambda record: local_time(record.get("finishedAt"), _TIME), wide=True),
    _Column("SUSPENDED", lambda record: _suspended(record), wide=True),
    _Column("MESSAGE", message_of, wide=True),
)


def runs_table(instance: JsonObject, *, wide: bool = False) -> str:
    """Return the table, each line ended; empty if no run has ended."""
    found = records(instance)
    if not found:
        return ""
    shown = [column for column in _COLUMNS if wide or not column.wide]
    rows = ([*_cells(record, shown, instance, wide=wide)] for record in found)
    return columns([[column.heading for column in shown], *rows])


def _cells(
    record: JsonObject, shown: Sequence[_Column], instance: JsonObject, *, wide: bool
) -> Iterator[str]:
    own = f"{instance['metadata']['namespace']}/"
    short = {
        "uid": short_uid(str(record.get("uid") or "")),
        "operatorVersion": str(record.get("operatorVersion") or "").removeprefix(own),
    }
    for column in shown:
        text = cell(column.cell(record if wide else {**record, **short}))
        yield text if wide else printable(text, _LONGEST)


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
    return ", ".join(_causes(record.get("cause") or {}))


def _causes(found: JsonObject) -> Iterator[str]:
    if found.get("retryOf"):
        begin = f" from {found['from']}" if found.get("from") else ""
        yield f"retry of {short_uid(str(found['retryOf']))}{begin}"
    if found.get("parameters"):
        more = found.get("parametersLeftOut")
        yield f"parameters {', '.join(found['parameters'])}{f' and {more} more' if more else ''}"
    if found.get("parent"):
        yield f"parent {found['parent']}"
    if found.get("requestedBy"):
        yield f"user {found['requestedBy']}"
