"""The library for CEL: the one module that imports it, when the first expression is compiled."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kudo_harness.cel.functions import declarations
from kudo_harness.cel.refs import usable
from kudo_harness.cel.words import absent_ref, compile_error, evaluation_error

JsonObject = dict[str, object]


class LibraryMissing(Exception):
    """The library for CEL is not installed."""


class NotCompiled(Exception):
    """An expression that cannot be compiled, in words."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why an expression is not true.

    Attributes:
        reason: In words; empty if it is true.
        absent: Name of an object that does not exist, if that is why.
    """

    reason: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression."""

    compiled: Any
    bool_type: Any
    error_type: Any

    def evaluate(self, objects: Mapping[str, JsonObject]) -> Outcome:
        """Evaluate the expression; the library bounds how many steps that takes."""
        try:
            value = self.compiled.eval(data=dict(objects))
            kind = value.type()
            if kind == self.bool_type:
                return Outcome() if value.plain_value() else Outcome("is false")
            if kind != self.error_type:
                name = kind.name().lower()
                return Outcome(f"is neither true nor false but of type {name}")
            text = str(value.value())
        except (OverflowError, RecursionError, RuntimeError, TypeError, ValueError) as error:
            text = str(error)
        return Outcome(evaluation_error(text), absent_ref(text))


@dataclass(frozen=True, slots=True)
class Environment:
    """Compiles expressions over some names."""

    env: Any
    names: tuple[str, ...]
    bool_type: Any
    dyn_type: Any
    error_type: Any

    def compile(self, expression: str) -> Program:
        """Compile an expression.

        Raises:
            NotCompiled: its syntax is wrong, a name is unknown, or it gives no bool.
        """
        try:
            compiled = self.env.compile(expression)
        except (RuntimeError, ValueError) as error:
            raise NotCompiled(compile_error(str(error), expression, self.names)) from None
        kind = compiled.return_type()
        if kind not in (self.bool_type, self.dyn_type):
            text = f"the expression is of type {kind.name().lower()}, and must be true or false"
            raise NotCompiled(text)
        return Program(compiled, self.bool_type, self.error_type)


@lru_cache(maxsize=64)
def environment(names: tuple[str, ...]) -> Environment:
    """Return what compiles expressions over these names.

    Raises:
        LibraryMissing: the library is not installed.
    """
    try:
        from cel_expr_python import cel
        from cel_expr_python.ext import (
            ext_bindings,
            ext_encoders,
            ext_math,
            ext_optional,
            ext_strings,
        )
    except ImportError as error:
        raise LibraryMissing from error
    env = cel.NewEnv(
        variables={name: cel.Type.DYN for name in names if usable(name)},
        extensions=[
            ext_strings.ExtStrings(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_encoders.ExtEncoders(),
        ],
        functions=declarations(cel),
    )
    return Environment(env, names, cel.Type.BOOL, cel.Type.DYN, cel.Type.ERROR)
