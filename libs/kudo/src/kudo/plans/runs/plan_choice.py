"""Chooses the plan that a change runs, and tells which run is active.

The rules are those of KUDO 0.19 with the differences listed in docs/differences.md: explicit
triggers first, then `update`, then `deploy`; a new version runs `upgrade`, `update` or `deploy`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kudo.api import Instance, OperatorVersion, Parameter, PlanExecution
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE
from kudo.api.problems import Problem, first_problems, listed, parameter_field, shown_name
from kudo.plans.execution import status_of

IDLE = PlanExecution()


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The plan that a change asks for.

    Attributes:
        plan: Name of the plan; None when `problems` says why none can be chosen.
        explicit: Parameters whose own trigger named the plan.
        fallback: Parameters without a trigger, which `update` or `deploy` brings into force.
        problems: Why no plan can be chosen.
    """

    plan: str | None = None
    explicit: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


NO_PLAN = PlanChoice()


def first_plan(version: OperatorVersion, *names: str) -> str | None:
    """Return the first of `names` that is a plan of the version."""
    return next((name for name in names if name in version.plans), None)


def plan_for_creation(version: OperatorVersion) -> PlanChoice:
    """Choose the plan of an Instance of which nothing is in force yet."""
    if PLAN_DEPLOY in version.plans:
        return PlanChoice(PLAN_DEPLOY)
    text = f"couldn't find '{PLAN_DEPLOY}' plan in the operatorversion {version.metadata.name}"
    return PlanChoice(problems=(Problem("DeployPlanMissing", text, "spec.operatorVersion"),))


def plan_for_upgrade(version: OperatorVersion) -> PlanChoice:
    plan = first_plan(version, PLAN_UPGRADE, PLAN_UPDATE, PLAN_DEPLOY)
    if plan is None:
        return PlanChoice(
            problems=(
                Problem(
                    "NoPlanTriggered",
                    "couldn't find any suitable plan that would be triggered by an OperatorVersion "
                    f"upgrade: {version.metadata.name} has none of the plans 'upgrade', 'update' "
                    "and 'deploy'",
                    "spec.operatorVersion",
                ),
            )
        )
    return PlanChoice(plan)


def plan_for_parameters(version: OperatorVersion, names: Iterable[str]) -> PlanChoice:
    """Choose the plan that runs first for changed parameters; undeclared names are skipped.

    It may leave some of them to a plan that runs after it; see `not_in_force_after`.
    """
    declared = [p for name in sorted(names) if (p := version.parameter(name)) is not None]
    if not declared:
        return NO_PLAN
    explicit = tuple(p.name for p in declared if p.trigger)
    fallback = tuple(p.name for p in declared if not p.trigger)
    triggers = sorted({p.trigger for p in declared if p.trigger})
    problems = first_problems(
        problem for p in declared if p.trigger for problem in _trigger_problems(p, version)
    )
    if not problems and len(triggers) > 1:
        # One run cannot be of two plans, and which of them comes first is for the user to say.
        by_parameter = [
            f"{shown_name(p.name)} runs {shown_name(p.trigger)}" for p in declared if p.trigger
        ]
        problem = Problem(
            "SeveralPlansTriggered",
            f"triggering multiple plans: [{listed(triggers, ' ')}] at once is not allowed "
            f"({listed(by_parameter, most=250)}); change these parameters one after the other",
            "spec.parameters",
        )
        problems = (problem,)
    if problems:
        return PlanChoice(explicit=explicit, fallback=fallback, problems=problems)
    if triggers:
        return PlanChoice(triggers[0], explicit, fallback)
    plan = first_plan(version, PLAN_UPDATE, PLAN_DEPLOY)
    if plan is None:
        problem = Problem(
            "NoPlanTriggered",
            "couldn't find any plans that would be triggered by the update: "
            f"{listed(fallback)} has no trigger, and {version.metadata.name} has neither an "
            "'update' nor a 'deploy' plan",
            "spec.parameters",
        )
        return PlanChoice(fallback=fallback, problems=(problem,))
    return PlanChoice(plan, explicit, fallback)


def not_in_force_after(version: OperatorVersion, plan: str, names: Iterable[str]) -> frozenset[str]:
    """Return the changed parameters that a run of a plan does not bring into force.

    `deploy` leaves none, any other plan those for which alone the rules choose another one.
    Undeclared parameters are skipped: nothing is chosen for them, so nothing is missed.
    """
    if plan == PLAN_DEPLOY:
        return frozenset()
    declared = version.declared.keys() & set(names)
    return frozenset(n for n in declared if plan_for_parameters(version, [n]).plan != plan)


def _trigger_problems(declared: Parameter, version: OperatorVersion) -> Iterator[Problem]:
    name, trigger = shown_name(declared.name), declared.trigger or ""
    where = parameter_field(declared.name)
    if trigger not in version.plans:
        yield Problem(
            "TriggerUnknown",
            f"param {name} defined trigger plan {shown_name(trigger)}, but plan not defined "
            f"in operatorversion {version.metadata.name}",
            where,
        )
    elif trigger == PLAN_CLEANUP:
        yield Problem(
            "CleanupNotManual",
            f"param {name} defined trigger plan {PLAN_CLEANUP}, which runs only when the "
            f"Instance is deleted; give the parameter another trigger in operatorversion "
            f"{version.metadata.name}",
            where,
        )


def active_run(instance: Instance) -> PlanExecution | None:
    """Return the run in progress, or None.

    A plan is active while the spec names it and its status entry is not terminal for that same
    uid. Nothing else makes a plan active.
    """
    scheduled = instance.scheduled
    if not scheduled.plan_name:
        return None
    entry = instance.plan_status.get(scheduled.plan_name)
    same_run = entry is not None and (entry.uid or "") == (scheduled.uid or "")
    return None if same_run and status_of(entry).terminal else scheduled


def used_uids(instance: Instance) -> frozenset[str]:
    """Return every execution uid that the Instance has seen."""
    uids = {entry.uid for entry in instance.plan_status.values() if entry.uid}
    if instance.scheduled.uid:
        uids.add(instance.scheduled.uid)
    return frozenset(uids)


def has_uid_of_another_plan(instance: Instance) -> bool:
    """Return whether the scheduled run has the uid of a run of another plan.

    Its events and its record would be those of that run.
    """
    run = instance.scheduled
    others = (entry for name, entry in instance.plan_status.items() if name != run.plan_name)
    return bool(run.uid) and any(entry.uid == run.uid for entry in others)
