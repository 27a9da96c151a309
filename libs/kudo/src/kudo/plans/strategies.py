"""The strategies of plans and phases."""

from collections.abc import Iterator

from kudo.api import Plan
from kudo.api.problems import Problem


def check_plan(name: str, plan: Plan) -> Iterator[Problem]:
    """Yield what makes the plan impossible to run."""
    for where, strategy in _strategies(name, plan):
        if strategy not in {"", "serial", "parallel"}:
            yield Problem(
                "InvalidPlan",
                f"strategy '{strategy}' of {where} is unknown; use 'serial' or 'parallel'",
                f"spec.plans[{name}]",
            )


def _strategies(name: str, plan: Plan) -> Iterator[tuple[str, str]]:
    yield f"plan '{name}'", plan.strategy
    for phase in plan.phases or ():
        yield f"phase '{name}.{phase.name}'", phase.strategy
