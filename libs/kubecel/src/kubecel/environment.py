"""Compiles and evaluates: the one module that imports the library."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kubecel.functions import declarations
from kubecel.words import absent_name, compile_error, evaluation_error

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset(
    {
        *("false", "in", "null", "true", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while", "bool", "bytes", "double", "dyn", "int", "list", "map"),
        *("null_type", "string", "type", "uint"),
    }
)
"""Words that CEL keeps for itself, and names of its types."""


def is_name(text: str) -> bool:
    """Return whether an expression can use a text as the name of a value."""
    return bool(_IDENTIFIER.fullmatch(text)) and text not in _RESERVED


class LibraryMissing(Exception):
    """The library for CEL is not installed."""


class NotCompiled(Exception):
    """An expression that cannot be compiled, in words."""


@dataclass(frozen=True, slots=True)
class Result:
    """What an expression gives.

    Attributes:
        value: The value: True, False, or a text; None if there is none.
        fault: Why there is none, in words; empty if there is one.
        absent: The name without a value, if that is why.
    """

    value: bool | str | None = None
    fault: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression; `wanted` is the type of its value, bool or string."""

    compiled: Any
    wanted: Any
    error_type: Any

    def evaluate(self, values: Mapping[str, object]) -> Result:
        """Evaluate the expression over values of JSON types, by their names."""
        try:
            value = self.compiled.eval(data=dict(values))
            kind = value.type()
            if kind == self.wanted:
                return Result(value.plain_value())
            if kind != self.error_type:
                return Result(fault=f"is {_but(self.wanted, kind)}")
            text = str(value.value())
        except (OverflowError, RecursionError, RuntimeError, TypeError, ValueError) as error:
            text = str(error)
        return Result(fault=evaluation_error(text), absent=absent_name(text))


def _but(wanted: Any, kind: Any) -> str:
    expected = "neither true nor false" if wanted.name() == "BOOL" else "no text"
    return f"{expected} but of type {kind.name().lower()}"


@dataclass(frozen=True, slots=True)
class Environment:
    """Compiles expressions over some names.

    Attributes:
        library: The library.
        env: Its environment.
        names: The names.
        hint: Which these are, in words, for an expression that uses another one.
    """

    library: Any
    env: Any
    names: tuple[str, ...]
    hint: str

    def compile(self, expression: str, *, text: bool = False) -> Program:
        """Compile an expression that is true or false, or gives a text.

        Raises:
            NotCompiled: its syntax is wrong, a name is unknown, or its type is another one.
        """
        types = self.library.Type
        wanted = types.STRING if text else types.BOOL
        try:
            compiled = self.env.compile(expression)
        except (RuntimeError, ValueError) as error:
            said = compile_error(str(error), expression, self.names, self.hint)
            raise NotCompiled(said) from None
        kind = compiled.return_type()
        if kind not in (wanted, types.DYN):
            expected = "a text" if text else "true or false"
            message = f"the expression is of type {kind.name().lower()}, and must be {expected}"
            raise NotCompiled(message)
        return Program(compiled, wanted, types.ERROR)


@lru_cache(maxsize=64)
def environment(names: tuple[str, ...], hint: str) -> Environment:
    """Return what compiles expressions over these names; see `Environment.hint`.

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
        variables={name: cel.Type.DYN for name in names if is_name(name)},
        extensions=[
            ext_strings.ExtStrings(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_encoders.ExtEncoders(),
        ],
        functions=declarations(cel),
    )
    return Environment(cel, env, names, hint)
