"""What expressions see of an Instance: its parameters, and more by name. Of no job of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goyaml import Budget
from kudo.parameters.template import RawParameter, expression_values


@dataclass(frozen=True, slots=True)
class Inputs:
    """What every expression of a run can use.

    Attributes:
        values: What it can use besides the parameters, by name.
        parameters: The texts of the parameters, `params`.
        hint: What it can use, in words.
    """

    values: Mapping[str, Any]
    parameters: tuple[RawParameter, ...]
    hint: str

    def to_wire(self) -> list[Any]:
        parameters = [list(parameter) for parameter in self.parameters]
        return [dict(self.values), parameters, self.hint]

    @classmethod
    def from_wire(cls, wire: list[Any]) -> "Inputs":
        values, parameters, hint = wire
        return cls(values, tuple(RawParameter(*one) for one in parameters), hint)

    def read(self) -> dict[str, Any]:
        """Return all values by name.

        Raises:
            InvalidInput: a parameter cannot be read.
        """
        return {**self.values, "params": expression_values(self.parameters, Budget())}
