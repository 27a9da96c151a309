"""The job `condition`: whether an expression is true.

Expressions are evaluated nowhere else in the services: the library bounds the steps that one takes,
and not its memory. A worker has a limit of that, which the kernel enforces.
"""

from dataclasses import dataclass
from typing import Final

import orjson

from kubecel import NotCompiled, environment
from kudo.api.problems import InvalidInput
from kudo.jobs.inputs import Inputs

NAME: Final = "condition"


@dataclass(frozen=True, slots=True)
class Request:
    """A condition.

    Attributes:
        expression: In CEL.
        inputs: What it can use.
    """

    expression: str
    inputs: Inputs

    def encode(self) -> bytes:
        return orjson.dumps([self.expression, self.inputs.to_wire()])

    @classmethod
    def decode(cls, request: bytes) -> "Request":
        expression, inputs = orjson.loads(request)
        return cls(expression, Inputs.from_wire(inputs))


def prepare() -> None:
    """Load the library."""
    environment(("params",), "")


def handle(request: bytes) -> bytes:
    """Return true or false, or the text of what is wrong."""
    asked = Request.decode(request)
    try:
        values = asked.inputs.read()
        program = environment(tuple(sorted(values)), asked.inputs.hint).compile(asked.expression)
    except (InvalidInput, NotCompiled) as error:
        return orjson.dumps(str(error))
    result = program.evaluate(values)
    return orjson.dumps(asked.inputs.fault(result, asked.expression) or result.value)


def decode_answer(answer: bytes) -> bool | str:
    """Return whether the condition is true, or what is wrong with it."""
    found = orjson.loads(answer)
    return found if isinstance(found, bool) else str(found)
