"""Execution of plans: the status entries, and the decision about the next steps.

* `entries`: the state machine of a status entry.
* `decision`: which steps to start, which to end, and when to requeue.
* `messages`: the bound on the messages of a status.

Pure functions: clock, network and randomness are passed in.
"""

from kudo.execution.decision import (
    Decision,
    Intent,
    StepState,
    after_attempt,
    after_interruption,
    decide,
)
from kudo.execution.entries import (
    StepOutcome,
    StepRef,
    TaskOutcome,
    adapt,
    attempted_still,
    begin,
    ensure_entries,
    fail,
    finished_tasks,
    is_single_step,
    never_run,
    phases_of,
    record,
    runnable,
    status_of,
    step_of,
)
from kudo.execution.messages import MAX_MESSAGES, bounded, only_messages_differ

__all__ = [
    "MAX_MESSAGES",
    "Decision",
    "Intent",
    "StepOutcome",
    "StepRef",
    "StepState",
    "TaskOutcome",
    "adapt",
    "after_attempt",
    "after_interruption",
    "attempted_still",
    "begin",
    "bounded",
    "decide",
    "ensure_entries",
    "fail",
    "finished_tasks",
    "is_single_step",
    "never_run",
    "only_messages_differ",
    "phases_of",
    "record",
    "runnable",
    "status_of",
    "step_of",
]
