"""Bounds the messages of a status in all, and tells whether messages alone have changed.

Each message has its own bound (`entries`). Hundreds of failing steps, in dozens of plans, would
still make an Instance too large for etcd, and every write of it slow.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kudo.api import ExecutionStatus, PlanStatus
from kudo.api.problems import abridged

MAX_MESSAGES: Final = 64 << 10
"""Characters of all messages of a status, beyond which they are cut."""
_CUT: Final = 80
"""Characters that are left of a message at least."""
_Place = tuple[str, int, int, int]
"""Plan, phase, step and task; -1 where the message is of what stands above."""


def bounded(entries: Mapping[str, PlanStatus]) -> Mapping[str, PlanStatus]:
    """Return the entries with messages of `MAX_MESSAGES` characters at most in all.

    Fatal messages keep their length before others, and those of the plan that changed last before
    those of others. A message without room is cut to its beginning, or removed.
    """
    if sum(len(text) for _, text, _ in _messages(entries)) <= MAX_MESSAGES:
        return entries
    kept = _kept(entries)
    bounded_entries = {}
    for name, entry in entries.items():
        phases = []
        for phase_index, phase in enumerate(entry.phases or ()):
            steps = []
            for step_index, step in enumerate(phase.steps or ()):
                place = name, phase_index, step_index
                tasks = tuple(
                    task.model_copy(update={"message": kept.get((*place, task_index)) or None})
                    for task_index, task in enumerate(step.tasks or ())
                )
                message = kept.get((*place, -1)) or None
                steps.append(step.model_copy(update={"message": message, "tasks": tasks or None}))
            phases.append(phase.model_copy(update={"steps": tuple(steps)}))
        message = kept.get((name, -1, -1, -1)) or None
        bounded_entries[name] = entry.model_copy(
            update={"message": message, "phases": tuple(phases)}
        )
    return bounded_entries


def only_messages_differ(left: PlanStatus, right: PlanStatus) -> bool:
    """Return whether two entries are the same but for messages and the time of their last change.

    How often a task was tried, and what it waits for, count as messages. False also for entries
    that are equal.
    """

    def without_messages(entry: PlanStatus) -> list[object]:
        parts: list[object] = [
            (entry.name, entry.status, entry.uid, entry.started_at, entry.finished_at)
        ]
        for phase in entry.phases or ():
            parts.append(("phase", phase.name, phase.status))
            for step in phase.steps or ():
                parts.append(("step", step.name, step.status))
                for task in step.tasks or ():
                    times = task.started_at, task.finished_at
                    # Without the uid of its Job a crash would have the program run again.
                    parts.append(("task", task.name, task.status, task.job_uid, *times))
        return parts

    return left != right and without_messages(left) == without_messages(right)


def _messages(entries: Mapping[str, PlanStatus]) -> Iterator[tuple[_Place, str, str]]:
    """Yield place, text and status of each message."""
    for name, entry in entries.items():
        if entry.message:
            yield (name, -1, -1, -1), entry.message, entry.status
        for phase_index, phase in enumerate(entry.phases or ()):
            for step_index, step in enumerate(phase.steps or ()):
                place = name, phase_index, step_index
                if step.message:
                    yield (*place, -1), step.message, step.status
                for task_index, task in enumerate(step.tasks or ()):
                    if task.message:
                        yield (*place, task_index), task.message, task.status


def _kept(entries: Mapping[str, PlanStatus]) -> dict[_Place, str]:
    """Return what is left of each message."""
    newest = sorted(
        entries, key=lambda name: entries[name].last_updated_timestamp or "", reverse=True
    )
    rank = {name: number for number, name in enumerate(newest)}

    def importance(message: tuple[_Place, str, str]) -> tuple[bool, int, _Place]:
        place, _, status = message
        return status != ExecutionStatus.FATAL_ERROR, rank[place[0]], place

    messages = sorted(_messages(entries), key=importance)
    # Everything keeps its beginning and its end as long as there is room for that.
    spare = MAX_MESSAGES - sum(min(len(text), _CUT) for _, text, _ in messages)
    kept: dict[_Place, str] = {}
    room = MAX_MESSAGES
    for place, text, _ in messages:
        more = max(0, len(text) - _CUT)
        left = text if more <= spare else abridged(text, _CUT)
        spare -= more if left is text else 0
        kept[place] = left if len(left) <= room else ""
        room -= len(kept[place])
    return kept
