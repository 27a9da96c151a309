"""Checks of plans: their strategies and names, and the triggers that name them."""

from collections.abc import Iterator
from typing import Final

from kudo.api import Plan
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY
from kudo.packages.model import Package
from kudo.packages.source import Named, Path
from kudo.plans.execution.decision import check_plan
from kudo.verification.finding import (
    Finding,
    at_parameter,
    at_plan,
    did_you_mean,
    error,
    in_operator,
    tolerated,
    warning,
)
from kudo.verification.tasks import repeated

_DENIED: Final = "changes of the parameter will be denied; leave trigger out if that is not meant"


def triggers_name_defined_plans(package: Package) -> Iterator[Finding]:
    plans = package.operator.plans or {}
    for parameter in package.parameters:
        if parameter.trigger and parameter.trigger not in plans:
            message = (
                f'plan "{parameter.trigger}" used in parameter "{parameter.name}" is not defined'
            )
            place = at_parameter(parameter.name, "trigger")
            # Published packages forbid changes of a parameter in this way.
            meant = did_you_mean(parameter.trigger, plans)
            yield tolerated("PlanUnknown", message, place, meant or _DENIED)
        elif parameter.trigger == PLAN_CLEANUP:
            message = (
                f'plan "{PLAN_CLEANUP}" used in parameter "{parameter.name}" runs only when an '
                "instance is deleted: changes of the parameter will be denied"
            )
            yield warning("CleanupNotManual", message, at_parameter(parameter.name, "trigger"))


def there_is_a_deploy_plan(package: Package) -> Iterator[Finding]:
    if PLAN_DEPLOY not in (package.operator.plans or {}):
        message = f"an operator is required to have '{PLAN_DEPLOY}' plan"
        suggestion = did_you_mean(PLAN_DEPLOY, package.operator.plans or {})
        yield error("DeployPlanMissing", message, in_operator("plans"), suggestion)


def strategies_are_known(package: Package) -> Iterator[Finding]:
    """A missing strategy is `serial`; a misspelt one would fail the plan when it runs."""
    for name, plan in (package.operator.plans or {}).items():
        for problem in check_plan(name, plan):
            yield error(problem.reason, problem.message, at_plan(name))


def names_in_plans_are_unique(package: Package) -> Iterator[Finding]:
    for plan_name, plan in (package.operator.plans or {}).items():
        for what, name, where, path in _duplicates(plan_name, plan):
            message = f'{what} "{name}" is defined more than once in {where}; names must be unique'
            yield error("NameDuplicate", message, at_plan(plan_name, *path))


def _duplicates(plan_name: str, plan: Plan) -> Iterator[tuple[str, str, str, Path]]:
    phases = plan.phases or ()
    for name in repeated(phase.name for phase in phases):
        yield "phase", name, f'plan "{plan_name}"', ("phases", Named(name, 1))
    for number, phase in enumerate(phases):
        for name in repeated(step.name for step in phase.steps):
            where = f'phase "{phase.name}" of plan "{plan_name}"'
            yield "step", name, where, ("phases", number, "steps", Named(name, 1))
