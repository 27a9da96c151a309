"""Reads the runs of an Instance off its JSON: what is scheduled, what ran, and how it ended.

The rules are those of `kudo.plans.runs.plan_choice`, over plain dictionaries: the models cost a
fifth of a second to import, and commands that only read a status do without them. A test compares
the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubectl_kudo.session.blocks import Cell, Mark, printable
from kudo.api.task_errors import cause_in

JsonObject = dict[str, Any]

NEVER_RUN = "NEVER_RUN"
PENDING = "PENDING"
COMPLETE = "COMPLETE"
FATAL_ERROR = "FATAL_ERROR"
SKIPPED = "SKIPPED"
"""What people read of a phase or step whose `when` was false; it is stored as COMPLETE."""
TIMED_OUT = "TimedOut"
"""Reason of a run that a time limit ended."""
RUNNING = frozenset({"IN_PROGRESS", PENDING, "ERROR"})
TERMINAL = frozenset({COMPLETE, FATAL_ERROR})
_STATES = {
    COMPLETE: (Mark.GOOD, "complete"),
    "IN_PROGRESS": (Mark.BUSY, "in progress"),
    PENDING: (Mark.IDLE, "pending"),
    SKIPPED: (Mark.IDLE, "skipped"),
    NEVER_RUN: (Mark.IDLE, "never run"),
    "NOT ACTIVE": (Mark.IDLE, "not active"),
    "ERROR": (Mark.WARNING, "retrying"),
    FATAL_ERROR: (Mark.BAD, "failed"),
}
"""Signs and words that a terminal shows for states of plans, phases and steps."""
_CONDITIONS = {"True": Mark.GOOD, "False": Mark.BAD, "Unknown": Mark.WARNING}
_UUID = 36
_NAME, _VALUE = 60, 40
"""Characters of parameters of a run."""
_MOST_GIVEN = 5
_SHORT = 8


@dataclass(frozen=True, slots=True)
class RunId:
    """One execution of a plan; both are empty where nothing is scheduled."""

    plan: str = ""
    uid: str = ""


def key_of(instance: JsonObject) -> str:
    """Return `namespace/name`, as messages name an Instance."""
    return f"{instance['metadata']['namespace']}/{instance['metadata']['name']}"


def scheduled(instance: JsonObject) -> RunId:
    """Return what `spec.planExecution` names."""
    execution = (instance.get("spec") or {}).get("planExecution") or {}
    return RunId(execution.get("planName") or "", execution.get("uid") or "")


def entries(instance: JsonObject) -> dict[str, JsonObject]:
    """Return the entries of `status.planStatus` by plan."""
    return (instance.get("status") or {}).get("planStatus") or {}


def status_of(entry: JsonObject) -> str:
    return entry.get("status") or NEVER_RUN


def used_uids(instance: JsonObject) -> frozenset[str]:
    """Return the uids of all runs that the Instance knows of."""
    uids = {entry.get("uid") for entry in entries(instance).values()}
    return frozenset(uid for uid in {*uids, scheduled(instance).uid} if uid)


def entry_of(instance: JsonObject, uid: str) -> tuple[str, JsonObject] | None:
    """Return plan and entry of the run with that uid."""
    # Plans that never ran have entries without a uid: an empty one must not match them.
    recorded = (item for item in entries(instance).items() if item[1].get("uid") == uid)
    return next(recorded, None) if uid else None


def active(instance: JsonObject) -> RunId | None:
    """Return the run in progress: scheduled, and not ended under that same uid."""
    run = scheduled(instance)
    if not run.plan:
        return None
    entry = entries(instance).get(run.plan) or {}
    ended = (entry.get("uid") or "") == run.uid and status_of(entry) in TERMINAL
    return None if ended else run


def last_executed(instance: JsonObject) -> str | None:
    """Return the plan that runs or ran last; None if none ever did."""
    recorded = entries(instance)
    running = sorted(plan for plan, entry in recorded.items() if status_of(entry) in RUNNING)
    if running:
        return running[0]
    last = (instance.get("status") or {}).get("lastRun") or {}
    of_last = entry_of(instance, last.get("uid") or "")
    if of_last is not None:
        return of_last[0]
    # KUDO 0.19 wrote no lastRun.
    ran = {plan: entry for plan, entry in recorded.items() if status_of(entry) != NEVER_RUN}
    return max(ran, key=lambda plan: str(ran[plan].get("lastUpdatedTimestamp") or ""), default=None)


def parts(plan: str, entry: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the plan, its phases and their steps, each by its dotted name, in order."""
    yield plan, entry
    for phase in entry.get("phases") or []:
        name = f"{plan}.{phase.get('name')}"
        yield name, phase
        for step in phase.get("steps") or []:
            yield f"{name}.{step.get('name')}", step


def message_of(part: JsonObject) -> str:
    """Return the cause in the message of a part of a run, a condition or an event; empty if none.

    The words before it are for asserts; see `kudo.api.task_errors`.
    """
    return cause_in(str(part.get("message") or ""))


def at_fault(plan: str, entry: JsonObject) -> tuple[str, str]:
    """Return the deepest part that failed, and the message with the reason."""
    failed = [part for part in parts(plan, entry) if status_of(part[1]) == FATAL_ERROR]
    name = max((name for name, _ in failed), key=lambda name: name.count("."), default=plan)
    messages = (message_of(part) for _, part in reversed(failed))
    return name, next(filter(None, messages), "no message was recorded")


def current_part(plan: str, entry: JsonObject) -> tuple[str, JsonObject]:
    """Return the deepest part that runs."""
    running = [part for part in parts(plan, entry) if status_of(part[1]) in RUNNING - {PENDING}]
    return max(running, key=lambda part: part[0].count("."), default=(plan, entry))


def records(instance: JsonObject) -> list[JsonObject]:
    """Return the runs of `status.history` that have ended, newest first."""
    return (instance.get("status") or {}).get("history") or []


def record_of(instance: JsonObject, uid: str) -> JsonObject:
    """Return the record of the run with that uid; empty if there is none."""
    matching = (record for record in records(instance) if record.get("uid") == uid)
    return next(matching, {}) if uid else {}


def timed_out(instance: JsonObject, entry: JsonObject) -> bool:
    """Return whether a time limit ended the run of an entry."""
    return record_of(instance, entry.get("uid") or "").get("reason") == TIMED_OUT


def run_facts(instance: JsonObject, entry: JsonObject) -> list[str]:
    """Return what else is to be said of a run: that it timed out, that it is a retry."""
    retried = entry.get("retryOf")
    return [
        *(["timed out"] if timed_out(instance, entry) else []),
        *([f"retry of {short_uid(retried)}"] if retried else []),
        *([f"with {given}"] if (given := given_text(entry.get("runParameters"))) else []),
    ]


def given_text(parameters: object, left_out: int = 0) -> str:
    """Return parameters of a run in one line; empty if there are none.

    Args:
        parameters: Their values by name.
        left_out: How many more there were.
    """
    given = parameters if isinstance(parameters, dict) else {}
    shown = [
        f"{printable(str(name), _NAME)}={printable(str(given[name]), _VALUE)}"
        for name in sorted(given)[:_MOST_GIVEN]
    ]
    more = len(given) - len(shown) + left_out
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}"


def short_uid(uid: str) -> str:
    """Return the first part of a UUID, which tells the runs of an Instance apart.

    A uid that somebody chose stays as it is, up to the length of a UUID.
    """
    return uid[: _SHORT if len(uid) == _UUID and uid.count("-") == 4 else _UUID]


def mark_of(status: str) -> Mark | None:
    """Return the mark of the status of a plan, phase or step."""
    return _STATES.get(status, (None, ""))[0]


def word_of(status: str) -> str:
    """Return the word for the status of a plan, phase or step."""
    return _STATES.get(status, (None, status))[1]


def state_cell(status: str, facts: str = "") -> Cell:
    """Return the cell of a status, with what else is to be said of it behind it."""
    return Cell(f"{status}{facts}", f"{word_of(status)}{facts}", mark_of(status))


def condition_cell(text: str, status: str = "") -> Cell:
    """Return the cell of a condition, whose status is the text unless it is given."""
    return Cell(text, mark=_CONDITIONS.get(status or text))
