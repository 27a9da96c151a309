"""Compiles and evaluates expressions: the one module that imports the library.

What the library reports about an expression is told in words.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

from kubecel.functions import MISSING, OVERLOADS, declarations

_UNDECLARED: Final = re.compile(r"<input>:(\d+):(\d+): undeclared reference to '([^']*)'")
_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_EXPECTING: Final = re.compile(r" expecting \{.*\}$")
_CODE: Final = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_KEY: Final = re.compile(r"Key not found in map : (.*)")
_INDEX: Final = re.compile(r"Index error: index=(-?\d+) size=(\d+)")
_OVERLOAD: Final = re.compile(r"No matching overloads found : (\S+)\((.*)\)")
_OPERATOR: Final = re.compile(r"_?(\W+|in)_?")
_BUDGET: Final = "Iteration budget exceeded"
_ABSENT: Final = re.compile(r'No value with name "([^"]*)" found in Activation')
# To the last quote: a value may have some in it.
_QUOTED: Final = re.compile(r"'.*'|\".*\"", re.DOTALL)
_SHOWN: Final = 100
"""Characters of a name in a message."""


def compile_error(text: str, expression: str, names: Collection[str], hint: str) -> str:
    """Return why an expression does not compile.

    Args:
        text: What the library says.
        expression: The expression.
        names: The names that it may refer to.
        hint: Which these are, in words.
    """
    match = _UNDECLARED.search(text)
    if match:
        where = _line(int(match[1]), expression)
        return f"{_unknown(match[3], int(match[1]), int(match[2]), expression, names, hint)}{where}"
    match = _ERROR.search(text)
    if match:
        column = f"column {match[2]}"
        where = f"line {match[1]}, {column}" if "\n" in expression.strip() else column
        return f"not valid CEL ({where}): {_EXPECTING.sub('', match[3])}"
    return f"not valid CEL: {text.partition(chr(10))[0] or 'no reason given'}"


def evaluation_error(text: str, expression: str) -> tuple[str, str]:
    """Return why an expression has no value, and the same without any value that it was given.

    What the expression says itself is none. Functions quote what they cannot read, or say more of
    it after a colon.

    Args:
        text: What the library says.
        expression: The expression.
    """
    said = _first_line(text)
    if _BUDGET in said:
        return ("takes too many steps",) * 2
    if match := _KEY.search(said):
        field = match[1].strip('"')
        fault = f"there is no field {field}"
        return fault, fault if _is_said(field, expression) else "there is no such field"
    if match := _INDEX.search(said):
        return f"there is no item {match[1]} in a list of {match[2]}", "there is no such item"
    if match := _OVERLOAD.search(said):
        return (_no_overload(match[1], match[2]),) * 2
    public = _QUOTED.sub("a value", said).partition(":")[0]
    return f"cannot be evaluated: {said}", f"cannot be evaluated: {public}"


def missing_key(text: str, expression: str) -> str:
    """Return the key that no map has, if that is the error and the expression says it; else empty.

    A key that was computed may be a secret.
    """
    match = _KEY.search(_first_line(text))
    key = match[1].strip('"') if match else ""
    return key if key and _is_said(key, expression) else ""


def _first_line(text: str) -> str:
    """Return what the library says, without its codes."""
    return _CODE.sub("", _CODE.sub("", text.partition("\n")[0]))


def _is_said(text: str, expression: str) -> bool:
    return bool(re.search(rf"\b{re.escape(text)}(?!\w)", expression))


def absent_name(text: str) -> str:
    """Return the name that has no value, if that is the error; else empty."""
    match = _ABSENT.search(text)
    return match[1] if match else ""


def _unknown(
    name: str, line: int, column: int, expression: str, names: Collection[str], hint: str
) -> str:
    lines = expression.split("\n")
    text = lines[line - 1] if line <= len(lines) else ""
    # Of a member, the library names the place of its parenthesis.
    called = text[column - 1 :].removeprefix(name).lstrip().startswith("(")
    # Of the macro as well, which takes no function.
    called = called and not text[: column - 1].endswith("has")
    root = name.partition(".")[0]
    shown = _shown(name if called else root)
    if called and name in MISSING:
        return f"the function {shown} of Kubernetes is not supported here"
    what = "function" if called else "name"
    near = {overload.function for overload in OVERLOADS} if called else names
    # Sorted, so that of two names that are equally close always the same one is named.
    for close in get_close_matches(root, sorted(near), n=1):
        return f"unknown {what} {shown}; did you mean {close}?"
    return f"unknown function {shown}" if called else f"unknown name {shown}; {hint}"


def _shown(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"


def _line(line: int, expression: str) -> str:
    return f" (line {line} of the expression)" if "\n" in expression.strip() else ""


def _no_overload(function: str, types: str) -> str:
    operator = _OPERATOR.fullmatch(function)
    name = operator[1] if operator else function
    shorter = {"int64": "int", "uint64": "uint", "null_type": "null"}
    operands = [shorter.get(name, name) for name in filter(None, types.split(", "))]
    return f"{name} does not work on {' and '.join(operands) or 'nothing'}"


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
        public: The same without a value that the expression was given, which may be a secret.
        absent: The name without a value, if that is why.
        missing: The key that a map does not have, if that is why and the expression says it.
        invalid: Whether the expression is at fault, and not a value that is missing so far: what it
            gives has another type, or it takes too many steps.
    """

    value: bool | str | None = None
    fault: str = ""
    public: str = ""
    absent: str = ""
    missing: str = ""
    invalid: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """Values that several expressions of one environment are evaluated over.

    They are converted once: some MiB take a tenth of a second.
    """

    activation: Any


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression; `wanted` is the type of its value, bool or string."""

    expression: str
    compiled: Any
    wanted: Any
    error_type: Any

    def evaluate(self, values: "Mapping[str, object] | Values") -> Result:
        """Evaluate the expression over values of JSON types, by their names."""
        try:
            if isinstance(values, Values):
                value = self.compiled.eval(activation=values.activation)
            else:
                value = self.compiled.eval(data=dict(values))
            kind = value.type()
            if kind == self.wanted:
                return Result(value.plain_value())
            # The library returns errors of an evaluation as values.
            if kind != self.error_type:
                fault = f"is {_but(self.wanted, kind)}"
                return Result(fault=fault, public=fault, invalid=True)
            text = str(value.value())
        except (OverflowError, RecursionError, RuntimeError, TypeError, ValueError) as error:
            text = str(error)
        fault, public = evaluation_error(text, self.expression)
        return Result(
            fault=fault,
            public=public,
            absent=absent_name(text),
            missing=missing_key(text, self.expression),
            invalid=_BUDGET in text,
        )


def _but(wanted: Any, kind: Any) -> str:
    expected = "neither true nor false" if wanted.name() == "BOOL" else "no text"
    return f"{expected} but of type {_type_name(kind)}"


def _type_name(kind: Any) -> str:
    # Without what is in it, such as `map<dyn, dyn>`.
    name: str = kind.name().lower()
    return name.partition("<")[0]


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

    def values(self, values: Mapping[str, object]) -> Values:
        """Return values of JSON types, by their names, for several expressions."""
        return Values(self.env.Activation(data=dict(values)))

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
        # What objects give has a type only when the expression is evaluated.
        if kind not in (wanted, types.DYN):
            expected = "a text" if text else "true or false"
            message = f"the expression is of type {_type_name(kind)}, and must be {expected}"
            raise NotCompiled(message)
        return Program(expression, compiled, wanted, types.ERROR)


# Kept, since most expressions are over the same names; bounded, since suites choose these.
@lru_cache(maxsize=64)
def environment(names: tuple[str, ...], hint: str) -> Environment:
    """Return what compiles expressions over these names; see `Environment.hint`.

    Raises:
        LibraryMissing: the library is not installed.
    """
    try:
        # Here and not at the top: the single file of the plugin does not have the library.
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
        # A word that CEL keeps for itself is an error of whoever gives it as a name, with its line.
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
