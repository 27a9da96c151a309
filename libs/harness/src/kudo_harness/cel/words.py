"""Says in words what the library for CEL reports about an expression."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from kudo.api.problems import shown_name
from kudo_harness.cel.functions import MISSING, OVERLOADS
from kudo_harness.suggestions import closest

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
    found = _UNDECLARED.search(text)
    if found:
        where = _line(int(found[1]), expression)
        return f"{_unknown(found[3], int(found[1]), int(found[2]), expression, refs)}{where}"
    found = _ERROR.search(text)
    if found:
        column = f"column {found[2]}"
        where = f"line {found[1]}, {column}" if "\n" in expression.strip() else column
        return f"not valid CEL ({where}): {_EXPECTING.sub('', found[3])}"
    return f"not valid CEL: {text.partition(chr(10))[0] or 'no reason given'}"


def evaluation_error(text: str) -> str:
    """Return why an expression has no value."""
    said = _CODE.sub("", _CODE.sub("", text.partition("\n")[0]))
    if "Iteration budget exceeded" in said:
        return "takes too many steps"
    if found := _KEY.search(said):
        return f"there is no field {found[1].strip(chr(34))}"
    if found := _INDEX.search(said):
        return f"there is no item {found[1]} in a list of {found[2]}"
    if found := _OVERLOAD.search(said):
        return _no_overload(found[1], found[2])
    return f"cannot be evaluated: {said}"


def absent_ref(text: str) -> str:
    """Return the name of the object that does not exist, if that is the error; else empty."""
    found = _ABSENT.search(text)
    return found[1] if found else ""


def _unknown(name: str, line: int, column: int, expression: str, refs: Collection[str]) -> str:
    called = _is_called(name, line, column, expression)
    root = name.partition(".")[0]
    shown = shown_name(name if called else root)
    if called and name in MISSING:
        return f"the function {shown} of Kubernetes is not supported here"
    known = {one.function for one in OVERLOADS} if called else refs
    near = closest(root, known)
    what = "function" if called else "name"
    if near:
        return f"unknown {what} {shown}; did you mean {near}?"
    if called:
        return f"unknown function {shown}"
    if refs:
        return f"unknown name {shown}; the refs of the assert are {', '.join(sorted(refs))}"
    return f"unknown name {shown}; the assert has no resourceRefs"


def _is_called(name: str, line: int, column: int, expression: str) -> bool:
    """Return whether a name is that of a function; of a member, the place is that of its `(`."""
    lines = expression.split("\n")
    text = lines[line - 1] if line <= len(lines) else ""
    return text[column - 1 :].removeprefix(name).lstrip().startswith("(")


def _line(line: int, expression: str) -> str:
    return f" (line {line} of the expression)" if "\n" in expression.strip() else ""


def _no_overload(function: str, types: str) -> str:
    operator = _OPERATOR.fullmatch(function)
    name = operator[1] if operator else function
    return f"{name} does not work on {' and '.join(_types(types)) or 'nothing'}"


def _types(text: str) -> Iterator[str]:
    for one in filter(None, text.split(", ")):
        yield {"int64": "int", "uint64": "uint", "null_type": "null"}.get(one, one)
