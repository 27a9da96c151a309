"""The library for CEL: the one module that imports it, when the first expression is compiled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kudo_harness.cel.functions import declarations
from kudo_harness.cel.refs import usable

JsonObject = dict[str, object]

_UNDECLARED: Final = re.compile(r"<input>:(\d+):(\d+): undeclared reference to '([^']*)'")
_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_CODE: Final = re.compile(r"^[A-Z_]+: ")


class LibraryMissing(Exception):
    """The library for CEL is not installed."""


class NotCompiled(Exception):
    """An expression that cannot be compiled, in words."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression."""

    compiled: Any
    bool_type: Any
    error_type: Any

    def reason_against(self, objects: Mapping[str, JsonObject]) -> str:
        """Return why the expression is not true for these objects; empty if it is true."""
        try:
            value = self.compiled.eval(data=dict(objects))
            kind = value.type()
            if kind == self.error_type:
                return f"cannot be evaluated: {_CODE.sub('', str(value.value()))}"
            if kind != self.bool_type:
                return f"is neither true nor false but of type {kind.name().lower()}"
            return "" if value.plain_value() else "is false"
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            return f"cannot be evaluated: {_first_line(error)}"


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
        except RuntimeError as error:
            raise NotCompiled(self._explained(str(error), expression)) from None
        kind = compiled.return_type()
        if kind not in (self.bool_type, self.dyn_type):
            text = f"the expression is of type {kind.name().lower()}, and must be true or false"
            raise NotCompiled(text)
        return Program(compiled, self.bool_type, self.error_type)

    def _explained(self, text: str, expression: str) -> str:
        known = (
            f"the refs of the assert are {', '.join(self.names)}"
            if self.names
            else ("the assert has no resourceRefs")
        )
        if found := _UNDECLARED.search(text):
            return f"unknown name {found[3]} ({_where(found, expression)}); {known}"
        if found := _ERROR.search(text):
            return f"not valid CEL ({_where(found, expression)}): {found[3]}"
        return f"not valid CEL: {text.splitlines()[0] if text else 'no reason given'}"


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


def _where(found: re.Match[str], expression: str) -> str:
    column = f"column {found[2]}"
    return f"line {found[1]}, {column}" if "\n" in expression.strip() else column


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
