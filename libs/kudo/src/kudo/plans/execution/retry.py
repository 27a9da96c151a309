"""The status entry of a retry: what the failed run had finished stays finished."""

from kudo.api import ExecutionStatus, PhaseStatus, Plan, PlanStatus, StepStatus
from kudo.plans.execution.entries import StepRef, adapt, begin, step_named

S = ExecutionStatus


def begin_retry(
    name: str, plan: Plan, failed: PlanStatus, uid: str, now: str, *, from_step: str = ""
) -> PlanStatus:
    """Return the entry of a run that continues a failed one: what it finished stays finished.

    Args:
        name: Name of the plan.
        plan: The plan.
        failed: The entry of the failed run.
        uid: Identity of the new run.
        now: RFC 3339.
        from_step: The step, as `phase.step`, where it begins: in the order of the plan, steps
            before it count as finished. If empty, all steps that were not finished run.
    """
    fresh, known = begin(name, plan, uid, now), adapt(name, plan, failed)
    begins_at = step_named(plan, from_step)
    phases = tuple(
        _retried_phase(index, phase, old, begins_at)
        for index, (phase, old) in enumerate(
            zip(fresh.phases or (), known.phases or (), strict=True)
        )
    )
    return fresh.model_copy(
        update={"phases": phases, "retry_of": failed.uid, "retried": failed.uid}
    )


def _retried_phase(
    index: int, fresh: PhaseStatus, known: PhaseStatus, begins_at: StepRef | None
) -> PhaseStatus:
    steps = tuple(
        _retried_step((index, at), step, old, begins_at)
        for at, (step, old) in enumerate(zip(fresh.steps or (), known.steps or (), strict=True))
    )
    complete = steps and all(step.status == S.COMPLETE for step in steps)
    return fresh.model_copy(
        update={"steps": steps, "status": S.COMPLETE if complete else fresh.status}
    )


def _retried_step(
    position: tuple[int, int], fresh: StepStatus, known: StepStatus, begins_at: StepRef | None
) -> StepStatus:
    complete = known.status == S.COMPLETE
    if begins_at is None:
        return known if complete else fresh
    if position >= (begins_at.phase_index, begins_at.step_index):
        return fresh
    if complete:
        return known
    text = f"assumed finished by the retry from {begins_at}"
    return fresh.model_copy(update={"status": S.COMPLETE, "message": text})
