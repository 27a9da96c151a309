"""The job `object_check`: what the expressions of a Check task say of the objects that were read.

As with `condition`, expressions are evaluated in worker processes alone, which have a limit of
memory. What is wrong with one is told without any value that it was given; its `message` is what
the author of the package has written for people to read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import orjson

from kubecel import NotCompiled, Program, Values, environment
from kudo.api.problems import InvalidInput, one_line
from kudo.jobs.inputs import Inputs
from kudo.jobs.position import position

NAME: Final = "object_check"
MESSAGE: Final = 1024
"""Characters of what an expression says."""
_SHOWN: Final = 200
"""Characters of an expression in a message."""
_LONGEST: Final = 4 * MESSAGE
_TEXT: Final = "message"

Outcome = Literal["done", "failed", "waiting", "invalid"]


@dataclass(frozen=True, slots=True)
class Request:
    """The expressions of a Check task, and what they are about.

    Attributes:
        expressions: In CEL, by the field that has them: `until`, and perhaps `failure` and
            `message`.
        by_name: Whether the objects are one that the task names, which is `self` as well.
        inputs: What they can use besides the objects.
        objects: The objects as JSON; at least one.
    """

    expressions: Mapping[str, str]
    by_name: bool
    inputs: Inputs
    objects: tuple[bytes, ...]

    def encode(self) -> bytes:
        head = orjson.dumps([dict(self.expressions), self.by_name, self.inputs.to_wire()])
        # Not decoded for this: there may be some MiB of them.
        return b"[" + head + b",[" + b",".join(self.objects) + b"]]"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the expressions say.

    Attributes:
        outcome: `done` if `until` is true, `failed` if `failure` is, `invalid` if an expression
            cannot be used; else `waiting`.
        text: What to tell of that, one line; empty if it is done.
    """

    outcome: Outcome
    text: str = ""


def handle(request: bytes) -> bytes:
    """Return the verdict."""
    (expressions, by_name, wire), objects = orjson.loads(request)
    inputs = Inputs.from_wire(wire)
    try:
        values = {**inputs.read(), "objects": objects}
        if by_name:
            values["self"] = objects[0]
        verdict = _verdict(expressions, values, inputs)
    except _Invalid as error:
        verdict = Verdict("invalid", f"check.{error}")
    except InvalidInput as error:
        verdict = Verdict("invalid", one_line(str(error), _LONGEST))
    return orjson.dumps([verdict.outcome, verdict.text])


def decode_answer(answer: bytes) -> Verdict:
    """Return the verdict."""
    outcome, text = orjson.loads(answer)
    return Verdict(outcome, text[:_LONGEST])


class _Invalid(Exception):
    """An expression that cannot be used, whatever it is given."""


@dataclass(slots=True)
class _Evaluation:
    """Evaluates compiled expressions over the same values.

    Attributes:
        inputs: What the values are, besides the objects.
        faults: Why expressions have no value so far.
    """

    programs: Mapping[str, Program]
    values: Values
    inputs: Inputs
    faults: list[str] = field(default_factory=list)

    def of(self, name: str) -> bool | str | None:
        """Return the value of an expression; None if it has none, or is not given."""
        program = self.programs.get(name)
        if program is None:
            return None
        position.tell(name)
        result = program.evaluate(self.values)
        # What only tells of an object does not decide about the plan.
        if result.invalid and name != _TEXT:
            raise _Invalid(f"{name} {result.public}")
        if result.public:
            self.faults.append(f"{name}: {self.inputs.fault(result, program.expression)}")
        return result.value

    def told(self, otherwise: str) -> str:
        """Return the message, or another text, with what is wrong with expressions."""
        said = one_line(str(self.of(_TEXT) or ""), MESSAGE) or otherwise
        return f"{said} ({'; '.join(self.faults)})" if self.faults else said


def _verdict(expressions: Mapping[str, str], values: Mapping[str, Any], inputs: Inputs) -> Verdict:
    env = environment(tuple(sorted(values)), inputs.hint)
    programs: dict[str, Program] = {}
    for name, expression in expressions.items():
        position.tell(name)
        try:
            programs[name] = env.compile(expression, text=name == _TEXT)
        except NotCompiled as error:
            raise _Invalid(f"{name}: {error}") from None
    evaluation = _Evaluation(programs, env.values(values), inputs)
    if evaluation.of("failure") is True:
        cut = one_line(expressions["failure"], _SHOWN)
        return Verdict("failed", evaluation.told(f"failure is true: {cut}"))
    if evaluation.of("until") is True:
        return Verdict("done")
    cut = one_line(expressions["until"], _SHOWN)
    return Verdict("waiting", evaluation.told(f"until is not true yet: {cut}"))
