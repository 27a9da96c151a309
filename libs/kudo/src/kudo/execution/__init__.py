"""The execution of plans: their status entries, and the decision what happens next.

* `entries`: the state machine of a status entry.
* `decision`: what to start, what to end and when to look again.
* `messages`: the bound on the messages of a status.

Values in, values out: no clock, no network, no randomness that is not passed in.
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
    check_plan,
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
from kudo.execution.messages import MAX_MESSAGES, bounded

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
    "check_plan",
    "decide",
    "ensure_entries",
    "fail",
    "finished_tasks",
    "is_single_step",
    "never_run",
    "phases_of",
    "record",
    "runnable",
    "status_of",
    "step_of",
]
