"""Execution of plans: the status entries, and the decision about the next steps.

* `entries`: the state machine of a status entry.
* `decision`: which steps to start, which to end, and when to requeue.
* `limits`: time limits of a plan and of what is in it.
* `timeouts`: which limit passes next, and the end of a run whose limit has passed.
* `messages`: the bound on the messages of a status.
* `outputs`: which outputs of tasks a step sees, and the bound on those of a status.

Pure functions: clock, network and randomness are passed in.
"""

from kudo.plans.execution.decision import (
    Decision,
    Intent,
    StepState,
    after_attempt,
    after_interruption,
    decide,
    with_look,
)
from kudo.plans.execution.entries import (
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
    known_outcomes,
    never_run,
    phases_of,
    record,
    runnable,
    status_of,
    step_named,
    step_of,
    step_status,
    steps_of,
    steps_of_entry,
)
from kudo.plans.execution.limits import (
    NO_LIMITS,
    InvalidLimits,
    Limit,
    LimitKind,
    Limits,
    limits_of,
)
from kudo.plans.execution.messages import MAX_MESSAGES, bounded, only_messages_differ
from kudo.plans.execution.outputs import (
    Outputs,
    bounded_outputs,
    outputs_before,
    size_of,
    sizes_in_entry,
    steps_before,
)
from kudo.plans.execution.timeouts import Passing, next_limit, time_out

__all__ = [
    "MAX_MESSAGES",
    "NO_LIMITS",
    "Decision",
    "Intent",
    "InvalidLimits",
    "Limit",
    "LimitKind",
    "Limits",
    "Outputs",
    "Passing",
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
    "bounded_outputs",
    "decide",
    "ensure_entries",
    "fail",
    "finished_tasks",
    "is_single_step",
    "known_outcomes",
    "limits_of",
    "never_run",
    "next_limit",
    "only_messages_differ",
    "outputs_before",
    "phases_of",
    "record",
    "runnable",
    "size_of",
    "sizes_in_entry",
    "status_of",
    "step_named",
    "step_of",
    "step_status",
    "steps_before",
    "steps_of",
    "steps_of_entry",
    "time_out",
    "with_look",
]
