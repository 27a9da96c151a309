"""The job `condition`: whether an expression is true.

Expressions are evaluated nowhere else in the services: the library bounds the steps that one takes,
and not its memory. A worker has a limit of that, which the kernel enforces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from goyaml import Budget
from kubecel import NotCompiled, environment
from kudo.api.problems import InvalidInput
from kudo.parameters.template import RawParameter, expression_values

NAME: Final = "condition"


@dataclass(frozen=True, slots=True)
class Request:
    """A condition.

    Attributes:
        expression: In CEL.
        values: What it can use besides the parameters, by name.
        parameters: The texts of the parameters, `params`.
        hint: What it can use, in words.
    """

    expression: str
    values: Mapping[str, Any]
    parameters: tuple[RawParameter, ...]
    hint: str

    def encode(self) -> bytes:
        parameters = [list(parameter) for parameter in self.parameters]
        return orjson.dumps([self.expression, dict(self.values), parameters, self.hint])

    @classmethod
    def decode(cls, request: bytes) -> "Request":
        expression, values, parameters, hint = orjson.loads(request)
        return cls(expression, values, tuple(RawParameter(*one) for one in parameters), hint)


def prepare() -> None:
    """Load the library."""
    environment(("params",), "")


def handle(request: bytes) -> bytes:
    """Return true or false, or the text of what is wrong."""
    asked = Request.decode(request)
    try:
        params = expression_values(asked.parameters, Budget())
        names = tuple(sorted({"params", *asked.values}))
        program = environment(names, asked.hint).compile(asked.expression)
    except (InvalidInput, NotCompiled) as error:
        return orjson.dumps(str(error))
    result = program.evaluate({**asked.values, "params": params})
    # A status is read by more people than the parameters of an Instance may be meant for.
    return orjson.dumps(result.public or result.value)


def decode_answer(answer: bytes) -> bool | str:
    """Return whether the condition is true, or what is wrong with it."""
    found = orjson.loads(answer)
    return found if isinstance(found, bool) else str(found)
