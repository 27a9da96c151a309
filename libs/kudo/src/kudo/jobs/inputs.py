"""What expressions see of an Instance: its parameters, and more by name. Of no job of its own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goyaml import Budget
from kubecel import Result, is_name
from kudo.parameters.template import RawParameter, expression_values


@dataclass(frozen=True, slots=True)
class Inputs:
    """What every expression of a run can use.

    Attributes:
        values: What it can use besides the parameters, by name.
        parameters: The texts of the parameters, `params`.
        hint: What it can use, in words.
        run_parameters: The texts of the parameters of the run, `runParams`.
    """

    values: Mapping[str, Any]
    parameters: tuple[RawParameter, ...]
    hint: str
    run_parameters: tuple[RawParameter, ...] = ()

    def to_wire(self) -> list[Any]:
        parameters = [list(parameter) for parameter in self.parameters]
        run_parameters = [list(parameter) for parameter in self.run_parameters]
        return [dict(self.values), parameters, run_parameters, self.hint]

    @classmethod
    def from_wire(cls, wire: list[Any]) -> "Inputs":
        values, parameters, run_parameters, hint = wire
        return cls(
            values,
            tuple(RawParameter(*one) for one in parameters),
            hint,
            tuple(RawParameter(*one) for one in run_parameters),
        )

    def read(self) -> dict[str, Any]:
        """Return all values by name.

        Raises:
            InvalidInput: a parameter cannot be read.
        """
        budget = Budget()
        return {
            **self.values,
            "params": expression_values(self.parameters, budget),
            "runParams": expression_values(self.run_parameters, budget),
        }

    def fault(self, result: Result, expression: str) -> str:
        """Return why an expression has no value, for a status; empty if it has one.

        A status is read by more people than the parameters of an Instance may be meant for.
        """
        task = result.missing
        if not task or task in self.values.get("outputs", {}):
            return result.public
        quoted = re.escape(task)
        if not re.search(rf"""\boutputs(\.{quoted}\b|\[["']{quoted}["']\])""", expression):
            return result.public
        question = f"has(outputs.{task})" if is_name(task) else f'"{task}" in outputs'
        return (
            f"there are no outputs of task {task} here: it runs in no earlier step, or was "
            f"skipped; ask with {question}"
        )
