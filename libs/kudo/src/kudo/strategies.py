"""The strategies of plans and phases."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kudo.problems import Problem

if TYPE_CHECKING:  # checking a package needs no models
    from kudo.api.interfaces import PlanFields


def check_plan(name: str, plan: "PlanFields") -> Iterator[Problem]:
    """Yield what makes the plan impossible to run."""
    for where, strategy in _strategies(name, plan):
        if strategy not in {"", "serial", "parallel"}:
            yield Problem(
                "InvalidPlan",
                f"strategy '{strategy}' of {where} is unknown; use 'serial' or 'parallel'",
                f"spec.plans[{name}]",
            )


def _strategies(name: str, plan: "PlanFields") -> Iterator[tuple[str, str]]:
    yield f"plan '{name}'", plan.strategy
    for phase in plan.phases or ():
        yield f"phase '{name}.{phase.name}'", phase.strategy
