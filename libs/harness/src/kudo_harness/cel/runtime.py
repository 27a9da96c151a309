"""The library for CEL: the one module that imports it, when the first expression is compiled.

Also says in words what it reports about an expression, and checks the names of its objects.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kudo.api.problems import shown_name
from kudo_harness.cel.functions import MISSING, OVERLOADS, declarations
from kudo_harness.findings import Findings, did_you_mean
from kudo_harness.suite import ResourceRef

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


def check_refs(refs: Sequence[ResourceRef], findings: Findings) -> None:
    """Note names that no expression could use, and those that are given twice."""
    seen: dict[str, ResourceRef] = {}
    for ref in refs:
        name = shown_name(ref.ref)
        if not _IDENTIFIER.fullmatch(ref.ref) or ref.ref in _RESERVED:
            message = (
                f"no expression can use {name!r} as a name; write letters, digits and _, and no "
                "word of CEL"
            )
            findings.error("InvalidRef", message, ref.place)
        elif ref.ref in seen:
            message = f"{name} is the ref of two objects, first in {seen[ref.ref].place}"
            findings.error("InvalidRef", message, ref.place)
        seen.setdefault(ref.ref, ref)


def usable(name: str) -> bool:
    """Return whether an expression can use a name."""
    return bool(_IDENTIFIER.fullmatch(name)) and name not in _RESERVED


_UNDECLARED: Final = re.compile(r"<input>:(\d+):(\d+): undeclared reference to '([^']*)'")
_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_EXPECTING: Final = re.compile(r" expecting \{.*\}$")
_CODE: Final = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_KEY: Final = re.compile(r"Key not found in map : (.*)")
_INDEX: Final = re.compile(r"Index error: index=(-?\d+) size=(\d+)")
_OVERLOAD: Final = re.compile(r"No matching overloads found : (\S+)\((.*)\)")
_OPERATOR: Final = re.compile(r"_?(\W+|in)_?")
_ABSENT: Final = re.compile(r'No value with name "([^"]*)" found in Activation')


def compile_error(text: str, expression: str, refs: Collection[str]) -> str:
    """Return why an expression does not compile.

    Args:
        text: What the library says.
        expression: The expression.
        refs: The names that it may refer to.
    """
    match = _UNDECLARED.search(text)
    if match:
        where = _line(int(match[1]), expression)
        return f"{_unknown(match[3], int(match[1]), int(match[2]), expression, refs)}{where}"
    match = _ERROR.search(text)
    if match:
        column = f"column {match[2]}"
        where = f"line {match[1]}, {column}" if "\n" in expression.strip() else column
        return f"not valid CEL ({where}): {_EXPECTING.sub('', match[3])}"
    return f"not valid CEL: {text.partition(chr(10))[0] or 'no reason given'}"


def evaluation_error(text: str) -> str:
    """Return why an expression has no value."""
    said = _CODE.sub("", _CODE.sub("", text.partition("\n")[0]))
    if "Iteration budget exceeded" in said:
        return "takes too many steps"
    if match := _KEY.search(said):
        return f"there is no field {match[1].strip(chr(34))}"
    if match := _INDEX.search(said):
        return f"there is no item {match[1]} in a list of {match[2]}"
    if match := _OVERLOAD.search(said):
        return _no_overload(match[1], match[2])
    return f"cannot be evaluated: {said}"


def absent_ref(text: str) -> str:
    """Return the name of the object that does not exist, if that is the error; else empty."""
    match = _ABSENT.search(text)
    return match[1] if match else ""


def _unknown(name: str, line: int, column: int, expression: str, refs: Collection[str]) -> str:
    lines = expression.split("\n")
    text = lines[line - 1] if line <= len(lines) else ""
    # Of a member, the library names the place of its parenthesis.
    called = text[column - 1 :].removeprefix(name).lstrip().startswith("(")
    root = name.partition(".")[0]
    shown = shown_name(name if called else root)
    if called and name in MISSING:
        return f"the function {shown} of Kubernetes is not supported here"
    names = {overload.function for overload in OVERLOADS} if called else refs
    what = "function" if called else "name"
    if advice := did_you_mean(root, names):
        return f"unknown {what} {shown}; {advice}"
    if called:
        return f"unknown function {shown}"
    if refs:
        return f"unknown name {shown}; the refs of the assert are {', '.join(sorted(refs))}"
    return f"unknown name {shown}; the assert has no resourceRefs"


def _line(line: int, expression: str) -> str:
    return f" (line {line} of the expression)" if "\n" in expression.strip() else ""


def _no_overload(function: str, types: str) -> str:
    operator = _OPERATOR.fullmatch(function)
    name = operator[1] if operator else function
    shorter = {"int64": "int", "uint64": "uint", "null_type": "null"}
    operands = [shorter.get(name, name) for name in filter(None, types.split(", "))]
    return f"{name} does not work on {' and '.join(operands) or 'nothing'}"


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
            # Values of objects come from a cluster, and not all of them can be values of CEL.
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
