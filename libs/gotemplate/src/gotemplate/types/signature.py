"""What a template function looks like to the engine.

A function is a Python callable with declared parameters, so that the engine can check arguments
and complain in Go's words before the callable runs. Parameters have Go's types: `ANY` is
`interface {}` (nil and absent both arrive as None), `VALUE` is reflect.Value (nil arrives as
None, absence as NO_VALUE); the others refuse what Go would refuse.

`Field` and `Refused` are the members of values that are read, or that templates may not use. The
conversions at the end are those of Sprig 2.22: strings are read as decimal digits without space,
point or prefix, what is not a number is 0, and a float loses its fraction.
"""

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.golang.literals import INT_MAX, INT_MIN, parse_float
from gotemplate.golang.values import NO_VALUE, Kind, kind_of, type_name
from gotemplate.parse import nodes
from gotemplate.parse.pipelines import ideal

_CONTAINERS: Final = frozenset({Kind.LIST, Kind.MAP})


@dataclass(frozen=True, slots=True)
class Param:
    """The type of a parameter.

    Attributes:
        go_type: Go's name of it, for messages.
        kinds: the kinds of values it takes; empty for any.
        nil: whether nil may be passed.
        literal: what a constant of another type is told ("expected string").
        types: classes of values of functions that it takes, such as a time.
    """

    go_type: str
    kinds: frozenset[Kind] = frozenset()
    nil: bool = False
    literal: str = ""
    types: tuple[type, ...] = ()

    def convert(self, value: object) -> object:
        """Check an argument that was computed.

        Raises:
            FunctionError: it has the wrong type; the text is Go's.
        """
        kind = kind_of(value)
        if kind in self.kinds and (kind not in _CONTAINERS or type_name(value) == self.go_type):
            return value
        if self.types and isinstance(value, self.types):
            return value
        if value is NO_VALUE:
            if self.nil:
                return None
            raise FunctionError(f"invalid value; expected {self.go_type}")
        got = "interface {}" if value is None else type_name(value)
        raise FunctionError(f"wrong type for value; expected {self.go_type}; got {got}")

    def constant(self, node: nodes.Number | nodes.String | nodes.Bool) -> object:
        """Return the value of a constant argument.

        Raises:
            FunctionError: the constant cannot have this type; the text is Go's.
        """
        if not self.kinds and not self.types:
            return _any_constant(node)
        match node:
            case nodes.String() if Kind.STRING in self.kinds:
                return node.text
            case nodes.Bool() if Kind.BOOL in self.kinds:
                return node.value
            case nodes.Number(integer=int()) if Kind.INT in self.kinds:
                return node.integer
            case nodes.Number(floating=float()) if Kind.FLOAT in self.kinds:
                return node.floating
        if self.literal:
            raise FunctionError(f"expected {self.literal}; found {node}")
        raise FunctionError(f"can't handle {node} for arg of type {self.go_type}")


def _any_constant(node: nodes.Number | nodes.String | nodes.Bool) -> object:
    if isinstance(node, nodes.String):
        return node.text
    if isinstance(node, nodes.Bool):
        return node.value
    value = ideal(node)
    if value is None:
        raise FunctionError(f"{node} overflows int")
    return value


ANY: Final = Param("interface {}", nil=True)
VALUE: Final = Param("reflect.Value", nil=True)
STRING: Final = Param("string", frozenset({Kind.STRING}), literal="string")
INT: Final = Param("int", frozenset({Kind.INT}), literal="integer")
FLOAT: Final = Param("float64", frozenset({Kind.FLOAT}), literal="float")
BOOL: Final = Param("bool", frozenset({Kind.BOOL}), literal="bool")
LIST: Final = Param("[]interface {}", frozenset({Kind.LIST}), nil=True)
MAP: Final = Param("map[string]interface {}", frozenset({Kind.MAP}), nil=True)


@dataclass(frozen=True, slots=True)
class Function:
    """A template function.

    Attributes:
        name: what templates call it.
        call: the work; raises `FunctionError` with Go's text when it cannot be done.
        params: the parameters that must be given.
        rest: the type of any further arguments, None when there may be none.
        uses_rendering: whether `call` takes the `Rendering` as its first argument.
    """

    name: str
    call: Callable[..., object]
    params: tuple[Param, ...] = ()
    rest: Param | None = None
    uses_rendering: bool = False

    def param(self, index: int) -> Param:
        """Return the type of the argument at `index`; the arity has been checked before."""
        if index < len(self.params):
            return self.params[index]
        assert self.rest is not None
        return self.rest

    def arity_error(self, written: int, given: int) -> str:
        """Return Go's error for a wrong number of arguments, "" for the right one.

        Args:
            written: arguments in the command.
            given: the same and the piped one.
        """
        if self.rest is not None:
            if given >= len(self.params):
                return ""
            return (
                f"wrong number of args for {self.name}: "
                f"want at least {len(self.params)} got {written}"
            )
        if given == len(self.params):
            return ""
        return f"wrong number of args for {self.name}: want {len(self.params)} got {given}"


_ANNOTATIONS: Final = {str: STRING, int: INT, float: FLOAT, bool: BOOL}


def from_callable(name: str, call: Callable[..., object]) -> Function:
    """Make a template function of a Python one.

    Parameters annotated `str`, `int`, `float` or `bool` take nothing else; the others take
    anything. Any exception becomes a template error with its text.

    Raises:
        TypeError: it has parameters that must be named.
    """
    params: list[Param] = []
    rest: Param | None = None
    for parameter in inspect.signature(call).parameters.values():
        declared = _ANNOTATIONS.get(parameter.annotation, ANY)
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = declared
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            params.append(declared)
        elif parameter.default is parameter.empty:
            raise TypeError(f"template function {name}: {parameter} cannot be given by name")

    def guarded(*args: object) -> object:
        try:
            return call(*args)
        except FunctionError:
            raise
        except Exception as error:
            raise FunctionError(str(error)) from error

    return Function(name, guarded, tuple(params), rest)


def refused() -> object:
    """Stand for a method that is never called."""
    raise AssertionError("refused before it is called")


@dataclass(frozen=True, slots=True)
class Field(Function):
    """A field of a struct: something to read, not to call."""

    def arity_error(self, written: int, given: int) -> str:  # noqa: ARG002
        """Return the error for any arguments: their number does not matter."""
        return f"{self.name} has arguments but cannot be invoked as function" if given else ""


@dataclass(frozen=True, slots=True)
class Refused(Function):
    """A method or a field that templates may not use.

    Attributes:
        problem: why, in Go's words.
    """

    problem: str = ""

    def arity_error(self, written: int, given: int) -> str:
        """Return the error for a wrong number of arguments, else why the method is refused."""
        return Function.arity_error(self, written, given) or self.problem


_DECIMAL: Final = re.compile(r"[+-]?0*([0-9]{1,20})", re.ASCII)
_SURE_TO_FIT: Final = 19  # digits: any number with less is an int64
_MASK: Final = (1 << 64) - 1


def wrap(value: int) -> int:
    """Wrap an integer to 64 bits, as Go's arithmetic does."""
    if INT_MIN <= value <= INT_MAX:
        return value
    value &= _MASK
    return value - (1 << 64) if value > INT_MAX else value


def to_int(value: object) -> int:
    """Convert any value to an int64; 0 if it is not a number, or a text out of range."""
    match value:
        case bool():
            return int(value)
        case int():
            return wrap(int(value))
        case str():
            return _from_text(value)
        case float():
            return _from_float(value)
    return 0


def _from_text(text: str) -> int:
    if len(text) < _SURE_TO_FIT and text.isascii() and text.isdigit():
        return int(text)
    if not _DECIMAL.fullmatch(text):
        return 0
    value = int(text.lstrip("+-").lstrip("0")[:20] or 0)
    value = -value if text[0] == "-" else value
    return value if INT_MIN <= value <= INT_MAX else 0


def _from_float(value: float) -> int:
    # What does not fit becomes the smallest integer, as on amd64.
    if not math.isfinite(value) or not INT_MIN <= value < INT_MAX:
        return INT_MIN
    return int(value)


def to_float(value: object) -> float:
    """Convert any value to a float64; 0 if it is not a number, or a text out of range."""
    match value:
        case bool() | int() | float():
            return float(value)
        case str():
            number = parse_float(value)
            return 0.0 if number is None else number
    return 0.0
