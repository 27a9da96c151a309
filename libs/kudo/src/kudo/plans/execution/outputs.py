"""Outputs: texts that tasks hand on to later steps of their run.

They stand in the entry of the step whose task made them. A step sees those of the steps that are
always COMPLETE when it begins, so what it sees never changes while it runs, nor after a crash.
"""

from collections.abc import Iterator, Mapping

from kudo.api import Plan, PlanStatus, bounds
from kudo.plans.execution.entries import StepRef, phases_of, step_status, steps_of, steps_of_entry

Outputs = Mapping[str, Mapping[str, str]]
"""Texts by task and name."""
_PARALLEL = "parallel"


def steps_before(plan: Plan, ref: StepRef) -> Iterator[StepRef]:
    """Yield the steps that are COMPLETE whenever a step begins, in the order of the plan.

    Those are the earlier steps of its phase if that is serial, and all steps of the earlier phases
    if the plan is.
    """
    in_phase = phases_of(plan)[ref.phase_index].strategy != _PARALLEL
    for other in steps_of(plan):
        if other.phase_index < ref.phase_index:
            comes_before = plan.strategy != _PARALLEL
        else:
            in_same = other.phase_index == ref.phase_index
            comes_before = in_same and in_phase and other.step_index < ref.step_index
        if comes_before:
            yield other


def outputs_before(plan: Plan, entry: PlanStatus, ref: StepRef) -> dict[str, dict[str, str]]:
    """Return the outputs that a step sees: those of the steps before it.

    Of a task that several of these steps have run, the outputs of the last one count.

    Args:
        plan: The plan.
        entry: The status entry of the run, with the phases and steps of the plan.
        ref: The step.
    """
    seen: dict[str, dict[str, str]] = {}
    for other in steps_before(plan, ref):
        for task, texts in (step_status(entry, other).outputs or {}).items():
            seen[task] = dict(texts)
    return seen


def size_of(outputs: Mapping[str, str]) -> int:
    """Return the size of the outputs of a task: bytes of their names and texts, as UTF-8."""
    return sum(len(part.encode("utf-8", "replace")) for pair in outputs.items() for part in pair)


def sizes_in_entry(entry: PlanStatus) -> dict[tuple[StepRef, str], int]:
    """Return the size of the outputs of each task of a run, by its step and name."""
    return {
        (ref, task): size_of(texts)
        for ref, step in steps_of_entry(entry)
        for task, texts in (step.outputs or {}).items()
    }


def bounded_outputs(
    entries: Mapping[str, PlanStatus], last: str | None
) -> Mapping[str, PlanStatus]:
    """Return the entries of an Instance with outputs of `INSTANCE_OUTPUTS` bytes at most in all.

    Each run has its own bound, but an Instance may have hundreds of plans. The plan that changed
    longest ago loses its outputs first.

    Args:
        entries: The entries, by plan.
        last: The plan of the last run, which keeps its outputs: it may be in progress.
    """
    all_sizes = {name: sum(sizes_in_entry(entry).values()) for name, entry in entries.items()}
    sizes = {name: size for name, size in all_sizes.items() if size}
    room = bounds.INSTANCE_OUTPUTS - sum(sizes.values())
    if room >= 0:
        return entries
    kept = dict(entries)
    sizes.pop(last or "", None)
    for name in sorted(sizes, key=lambda name: entries[name].last_updated_timestamp or ""):
        if room >= 0:
            break
        kept[name] = _without_outputs(entries[name])
        room += sizes[name]
    return kept


def _without_outputs(entry: PlanStatus) -> PlanStatus:
    phases = tuple(
        phase.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"outputs": None}) for step in phase.steps or ()
                )
            }
        )
        for phase in entry.phases or ()
    )
    return entry.model_copy(update={"phases": phases})
