"""Decides when waiting for a run is over: pure functions over the JSON of an Instance.

A run is known by its uid. It is done when its entry is COMPLETE and nothing schedules it any more;
it has failed when its entry is FATAL_ERROR, when a newer run replaced it, or when the Instance is
deleted. Nothing else ends the waiting but the time limit.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from kubectl_kudo.reading.instance_state import (
    condition,
    held_up_by,
    is_due,
    is_suspended,
    not_in_force,
    suspension,
)
from kubectl_kudo.reading.runs import (
    COMPLETE,
    FATAL_ERROR,
    NEVER_RUN,
    JsonObject,
    active,
    at_fault,
    current_part,
    entries,
    entry_of,
    key_of,
    last_executed,
    message_of,
    scheduled,
    status_of,
    used_uids,
)
from kubectl_kudo.session.terminal import clean, continued, word
from kudo.objects import finalizers
from kudo.parameters.settings import settings_of


@dataclass(frozen=True, slots=True)
class Target:
    """The run, or the deletion, to wait for.

    Attributes:
        instance: Uid of the Instance; another one of the same name does not count.
        key: `namespace/name`, for messages.
        plan: Plan of the run; empty while it is not known.
        uid: Uid of the run; empty until somebody schedules it.
        before: Uids of older runs; the first one that is not among them is the run.
        follow: Whether a newer run takes the place of this one, instead of ending the waiting.
    """

    instance: str
    key: str
    plan: str = ""
    uid: str = ""
    before: frozenset[str] = frozenset()
    follow: bool = False


class State(Enum):
    WAITING = auto()
    DONE = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the waiting is over, and a text: what is waited for, or why it failed."""

    state: State
    text: str = ""


DONE = Outcome(State.DONE)


def triggered(before: JsonObject | None, after: JsonObject) -> Target | None:
    """Return the run that a write caused, or None if it caused none.

    Where the mutating webhook is absent, the run is not known yet: the reconciler schedules it.

    Args:
        before: The Instance before the write; None if the write created it.
        after: The Instance that the write returned.
    """
    used = used_uids(before) if before else frozenset()
    target = Target(_uid(after), key_of(after), before=used)
    run = scheduled(after)
    if run.uid and run.uid not in used:
        return replace(target, plan=run.plan, uid=run.uid)
    # Neither version nor parameters changed, so the reconciler has nothing to schedule.
    if before is not None and _desired(before) == _desired(after):
        return None
    return target


def triggered_plan(before: JsonObject | None, after: JsonObject) -> str | None:
    """Return the plan of the run that a write caused; empty while nobody has chosen it.

    Args:
        before: As of `triggered`.
        after: As of `triggered`.
    """
    run = triggered(before, after)
    return None if run is None else run.plan


def _desired(instance: JsonObject) -> tuple[object, object]:
    spec = instance.get("spec") or {}
    return spec.get("operatorVersion"), settings_of(spec)


def present_run(instance: JsonObject) -> Target | None:
    """Return the run in progress, else the last one; None if no plan was ever run."""
    target = Target(_uid(instance), key_of(instance), follow=True)
    run = active(instance)
    if run is not None:
        return replace(target, plan=run.plan, uid=run.uid)
    plan = last_executed(instance)
    if plan is None:
        return None
    return replace(target, plan=plan, uid=entries(instance)[plan].get("uid") or "")


def following(instance: JsonObject) -> Target | None:
    """Return the run that the reconciler schedules for what is not in force; None if there is none.

    It runs already, after the present one, or is about to be scheduled.
    """
    target, run = Target(_uid(instance), key_of(instance)), active(instance)
    execution = (instance.get("spec") or {}).get("planExecution") or {}
    # A run that a user asked for is not the one that follows, unless values wait for it as well.
    if run is not None and (not_in_force(instance) or not execution.get("requestedBy")):
        return replace(target, plan=run.plan, uid=run.uid)
    return replace(target, before=used_uids(instance)) if is_due(instance) else None


def advance(target: Target, instance: JsonObject | None) -> Target:
    """Return the target, updated from a new state of the Instance."""
    if instance is None or _uid(instance) != target.instance:
        return target
    if target.follow:
        present = active(instance)
        if present is not None:
            return replace(target, plan=present.plan, uid=present.uid)
        # Where its plan has the entry of a newer run, that one has ended as well.
        is_recorded = entry_of(instance, target.uid) is not None
        return target if is_recorded else present_run(instance) or target
    if target.uid:
        return target
    run = scheduled(instance)
    if run.uid and run.uid not in target.before:
        return replace(target, plan=run.plan, uid=run.uid)
    # A short run may have ended between two events of the watch: only its entry is seen.
    for plan, entry in entries(instance).items():
        uid = entry.get("uid")
        if uid and uid not in target.before:
            return replace(target, plan=plan, uid=uid)
    return target


def outcome_of(target: Target, instance: JsonObject | None) -> Outcome:
    """Return whether the run is over. Call `advance` with the same Instance first."""
    return _held_up(_outcome(target, instance), instance)


def _held_up(outcome: Outcome, instance: JsonObject | None) -> Outcome:
    """Return the outcome; one that has to wait for the end of a pause says so."""
    pause = suspension(instance) if instance is not None else ""
    if outcome.state is not State.WAITING or not pause:
        return outcome
    return Outcome(State.WAITING, f"{outcome.text}; the instance is {pause}")


def _outcome(target: Target, instance: JsonObject | None) -> Outcome:
    if instance is None or _uid(instance) != target.instance:
        return Outcome(State.FAILED, f"instance {target.key} was deleted while waiting for it")
    if not target.uid:
        text = "no run was scheduled yet; are the webhook and the reconciler of KUDO running?"
        return Outcome(State.WAITING, text)
    run, recorded = scheduled(instance), entry_of(instance, target.uid)
    if recorded is None:
        if run.uid != target.uid:
            return _replaced(target, instance)
        text = f"plan {target.plan} is scheduled and "
        if is_suspended(instance):
            return Outcome(State.WAITING, f"{text}not started")
        if missing := held_up_by(instance):
            return Outcome(State.WAITING, f"{text}waits: {missing}")
        text = f"{text}was not started yet; is the reconciler of KUDO running?"
        return Outcome(State.WAITING, text)
    plan, entry = recorded
    if status_of(entry) == FATAL_ERROR:
        return Outcome(State.FAILED, failure(target.key, plan, entry))
    if status_of(entry) == COMPLETE:
        # The reconciler writes the end of a run before it clears the schedule.
        closing = Outcome(State.WAITING, f"plan {plan} is COMPLETE and about to be closed")
        return closing if run.uid == target.uid else DONE
    # Its entry may be behind: the schedule tells that another run has taken its place.
    if run.uid not in {"", target.uid}:
        return _replaced(target, instance)
    return Outcome(State.WAITING, progress(plan, entry))


def _replaced(target: Target, instance: JsonObject) -> Outcome:
    plan, text = scheduled(instance).plan, f"instance {target.key}: the run of plan {target.plan}"
    if plan:
        return Outcome(State.FAILED, f"{text} was replaced by a newer run of plan {plan}")
    ready = condition(instance)
    why = f" ({ready.get('reason')}: {message_of(ready)})" if ready.get("status") == "False" else ""
    text = f"{text} no longer exists: a newer one replaced it, or it was denied{why}"
    return Outcome(State.FAILED, text)


def outcome_of_present(target: Target, instance: JsonObject | None) -> Outcome:
    """Return whether the run of `present_run` is over, also for a run without a uid."""
    if instance is None or target.uid or _uid(instance) != target.instance:
        return outcome_of(target, instance)
    entry = entries(instance).get(target.plan) or {}
    if active(instance) is not None:
        return _held_up(Outcome(State.WAITING, progress(target.plan, entry)), instance)
    if status_of(entry) == FATAL_ERROR:
        return Outcome(State.FAILED, failure(target.key, target.plan, entry))
    return DONE


def outcome_of_following(target: Target, instance: JsonObject | None) -> Outcome:
    """Return whether a run of `following` is over, also if nobody schedules it after all."""
    # An Instance of the same name that was created since has nothing to do with this run.
    exists = instance is not None and _uid(instance) == target.instance
    if instance is None or not exists or target.uid or is_due(instance):
        return outcome_of(target, instance)
    # Nothing is due any more: either all is in force, or the reconciler has given up on it.
    text = not_in_force(instance)
    return Outcome(State.FAILED, f"instance {target.key}: not in force: {text}") if text else DONE


def outcome_of_cancel(target: Target, instance: JsonObject | None) -> Outcome:
    """Return whether a run is over, however it ended."""
    if instance is None or _uid(instance) != target.instance:
        return DONE
    # The reconciler clears the schedule last, after the status that says how it ended.
    if scheduled(instance).uid != target.uid:
        return DONE
    return Outcome(State.WAITING, progress(target.plan, entries(instance).get(target.plan) or {}))


def outcome_of_removal(target: Target, instance: JsonObject | None) -> Outcome:
    """Return whether a deleted Instance no longer exists."""
    if instance is None or _uid(instance) != target.instance:
        return DONE
    run = active(instance)
    if run is not None:
        return Outcome(State.WAITING, progress(run.plan, entries(instance).get(run.plan) or {}))
    held = finalizers.described(instance["metadata"].get("finalizers") or []) or "nothing"
    return Outcome(State.WAITING, f"it is being deleted; finalizers that hold it: {held}")


def failure(key: str, plan: str, entry: JsonObject) -> str:
    """Return what ended a run: instance, plan.phase.step and the message."""
    part, text = at_fault(plan, entry)
    message = continued(clean(text))
    at = f"plan {word(plan)} ended with {FATAL_ERROR} at {word(part)}"
    return f"instance {key}: {at}: {message}"


def progress(plan: str, entry: JsonObject) -> str:
    """Return where a run is."""
    part, state = current_part(plan, entry)
    if status_of(state) == NEVER_RUN:
        return f"plan {plan} was not started yet"
    message = message_of(state)
    return f"{part} is {status_of(state)}{f' ({clean(message)})' if message else ''}"


def _uid(instance: JsonObject) -> str:
    return str(instance["metadata"].get("uid") or "")
