"""What the library reports about an expression, in words."""

import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

from kubecel.functions import MISSING, OVERLOADS

_UNDECLARED: Final = re.compile(r"<input>:(\d+):(\d+): undeclared reference to '([^']*)'")
_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_EXPECTING: Final = re.compile(r" expecting \{.*\}$")
_CODE: Final = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_KEY: Final = re.compile(r"Key not found in map : (.*)")
_INDEX: Final = re.compile(r"Index error: index=(-?\d+) size=(\d+)")
_OVERLOAD: Final = re.compile(r"No matching overloads found : (\S+)\((.*)\)")
_OPERATOR: Final = re.compile(r"_?(\W+|in)_?")
_ABSENT: Final = re.compile(r'No value with name "([^"]*)" found in Activation')
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
    root = name.partition(".")[0]
    shown = _shown(name if called else root)
    if called and name in MISSING:
        return f"the function {shown} of Kubernetes is not supported here"
    what = "function" if called else "name"
    near = {overload.function for overload in OVERLOADS} if called else names
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
