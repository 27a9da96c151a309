"""`when` of phases and steps: which conditions decide about a step, and what they can use.

A phase is decided on when its first step could start, a step when its own turn comes. What has
begun is decided: a process that takes over must not leave it out.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from kudo.api import Instance, Plan, PlanStatus
from kudo.plans.execution.entries import StepRef, phases_of, step_of, step_status, steps_of

_LABELS: Final = re.compile(r"\blabels\b")


class Condition(NamedTuple):
    """A condition.

    Attributes:
        part: What it decides about.
        expression: In CEL.
    """

    part: Literal["step", "phase"]
    expression: str


def conditions(plan: Plan, ref: StepRef) -> Iterator[Condition]:
    """Yield the conditions of a step: that of its phase first."""
    phase, step = phases_of(plan)[ref.phase_index], step_of(plan, ref)
    if phase.when:
        yield Condition("phase", phase.when)
    if step.when:
        yield Condition("step", step.when)


def has_conditions(plan: Plan, ref: StepRef) -> bool:
    """Return whether it is not known before its turn whether a step runs."""
    return any(True for _ in conditions(plan, ref))


def undecided(plan: Plan, entry: PlanStatus, ref: StepRef) -> tuple[Condition, ...]:
    """Return the conditions that decide whether a step runs; none if it has begun.

    Args:
        plan: The plan.
        entry: The status entry of the run.
        ref: The step.
    """
    # A status alone does not tell: a step of which no condition could be evaluated has one.
    if step_status(entry, ref).tasks:
        return ()
    steps = (entry.phases or ())[ref.phase_index].steps or ()
    phase_began = any(step.tasks for step in steps)
    return tuple(
        condition
        for condition in conditions(plan, ref)
        if condition.part == "step" or not phase_began
    )


def uses_labels(plan: Plan) -> bool:
    """Return whether a condition of a plan may use the labels of the Instance."""
    return any(
        _LABELS.search(condition.expression)
        for ref in steps_of(plan)
        for condition in conditions(plan, ref)
    )


def instance_value(instance: Instance) -> dict[str, Any]:
    """Return what conditions see of an Instance; its labels are those that its run began with."""
    last, metadata = instance.status.last_run, instance.metadata
    as_begun = last is not None and last.uid == instance.scheduled.uid and last.labels is not None
    labels = last.labels if last is not None and as_begun else metadata.labels
    return {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "labels": dict(labels or {}),
    }
