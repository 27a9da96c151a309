"""What a plan declares, and whether it can be run at all.

Apart from `kudo.plans.execution`, so that who only reads packages does not wait for the machine
that runs them.
"""

from collections.abc import Iterator

from kudo.api import Plan
from kudo.api.problems import Problem


def check_plan(name: str, plan: Plan) -> Iterator[Problem]:
    """Yield what makes the plan impossible to run: strategies that are unknown."""
    strategies = [(f"plan '{name}'", plan.strategy)]
    strategies += [(f"phase '{name}.{phase.name}'", phase.strategy) for phase in plan.phases or ()]
    for where, strategy in strategies:
        if strategy not in {"", "serial", "parallel"}:
            yield Problem(
                "InvalidPlan",
                f"strategy '{strategy}' of {where} is unknown; use 'serial' or 'parallel'",
                f"spec.plans[{name}]",
            )
