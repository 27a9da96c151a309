"""Go's view of Python data.

Templates see mappings with string keys, lists, strings, booleans, integers, floats and None, and
nothing else: attributes of Python objects are out of reach. An `int` is Go's `int` (an `Int64` its
int64, which only names of types tell apart), a `bool` is never a number, a `tuple` is a list.
Two kinds of nothing exist in Go and are kept apart here,
because error texts and functions tell them apart:

* `None` is a nil inside a container (Go: an interface holding nil);
* `NO_VALUE` is the absence of a value: a missing key, the result of a pipeline that gave nil.

Strings are Go strings: bytes that are no UTF-8 are carried as lone surrogates (Python's
surrogateescape) until the rendered text is made.
"""

import enum
import re
from collections.abc import Mapping
from types import NoneType
from typing import Final, Protocol, runtime_checkable


class Missing(enum.Enum):
    """The type of `NO_VALUE`, an enum so that type checkers can tell it from data."""

    NO_VALUE = "<no value>"

    def __bool__(self) -> bool:
        return False


NO_VALUE: Final = Missing.NO_VALUE


class Kind(enum.Enum):
    """What Go's reflection would call a value."""

    INVALID = "invalid"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float64"
    COMPLEX = "complex128"
    STRING = "string"
    LIST = "slice"
    MAP = "map"
    STRUCT = "struct"

    # As of any object: the hash of an Enum is a function in Python, called for every argument.
    __hash__ = object.__hash__


BASIC: Final = frozenset({Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.COMPLEX, Kind.STRING})


class Int64(int):
    """An integer that Go calls int64 and not int: what Sprig's arithmetic gives."""

    __slots__ = ()


class Uint8(int):
    """A byte of a string."""

    __slots__ = ()


class Uint64(int):
    """A number of a version."""

    __slots__ = ()


class IntList(list[int]):
    """A list that Go calls []int: what counting functions give. Read it only."""

    __slots__ = ()


class StringList(list[str]):
    """A list that Go calls []string: what splitting functions give. Read it only."""

    __slots__ = ()


class ListList(list[list[object]]):
    """A list that Go calls [][]interface {}: what `chunk` gives. Read it only."""

    __slots__ = ()


class NilList(list[object]):
    """A list without items that Go calls nil; JSON alone tells it apart."""

    __slots__ = ()


class NilStringList(StringList):
    """A []string without items that Go calls nil; JSON alone tells it apart."""

    __slots__ = ()


class StringMap(dict[str, str]):
    """A map that Go calls map[string]string; a key it lacks counts as "". Read it only."""

    __slots__ = ()


@runtime_checkable
class MethodValue(Protocol):
    """A value of a function that templates may call methods on, such as a time or a version.

    The engine asks only these three questions; Python attributes stay invisible. One that is
    also an `int` (a month, a duration) counts as its number and prints as its text.
    """

    def go_type(self) -> str:
        """Name the Go type, as `%T` prints it."""
        ...

    def go_text(self) -> str:
        """Print the value as `%v` does."""
        ...

    def go_method(self, name: str) -> object | None:
        """Find a method or field by its Go name.

        A `Function` has its arguments checked by its parameters; any other callable by those it
        declares, see `from_callable`.
        """
        ...


_STRAY_BYTE: Final = re.compile("[\udc80-\udcff]")

_KINDS: Final[dict[type, Kind]] = {
    str: Kind.STRING,
    bool: Kind.BOOL,
    int: Kind.INT,
    Int64: Kind.INT,
    Uint8: Kind.INT,
    Uint64: Kind.INT,
    float: Kind.FLOAT,
    complex: Kind.COMPLEX,
    dict: Kind.MAP,
    list: Kind.LIST,
    IntList: Kind.LIST,
    StringList: Kind.LIST,
    NilStringList: Kind.LIST,
    ListList: Kind.LIST,
    StringMap: Kind.MAP,
    tuple: Kind.LIST,
    NoneType: Kind.INVALID,
    Missing: Kind.INVALID,
}

_NAMES: Final = {
    Kind.STRING: "string",
    Kind.BOOL: "bool",
    Kind.INT: "int",
    Kind.FLOAT: "float64",
    Kind.COMPLEX: "complex128",
    Kind.MAP: "map[string]interface {}",
    Kind.LIST: "[]interface {}",
    Kind.INVALID: "<nil>",
}

_SPECIAL_NAMES: Final[dict[type, str]] = {
    Int64: "int64",
    Uint8: "uint8",
    Uint64: "uint64",
    IntList: "[]int",
    StringList: "[]string",
    NilStringList: "[]string",
    ListList: "[][]interface {}",
    StringMap: "map[string]string",
}
TYPED_LISTS: Final = (IntList, StringList, ListList)

# Subclasses and foreign mappings; bool stands before int, whose subclass it is.
_FAMILIES: Final = (
    (str, Kind.STRING),
    (bool, Kind.BOOL),
    (int, Kind.INT),
    (float, Kind.FLOAT),
    (Mapping, Kind.MAP),
    (list, Kind.LIST),
    (tuple, Kind.LIST),
)


def kind_of(value: object) -> Kind:
    """Classify a value; whatever the data model does not know is an opaque struct."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    for family, family_kind in _FAMILIES:
        if isinstance(value, family):
            return family_kind
    return Kind.STRUCT


def type_name(value: object) -> str:
    """Name the Go type of a value, as `%T` prints it."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return _SPECIAL_NAMES.get(type(value)) or _NAMES[kind]
    if isinstance(value, MethodValue):
        return value.go_type()
    return _NAMES.get(kind_of(value), "struct {}")


def own_text(value: object) -> str | None:
    """Return the text of a value that says itself how `%v` prints it; None of any other."""
    if type(value) in _KINDS or not isinstance(value, MethodValue):
        return None
    return value.go_text()


def truth(value: object) -> bool:
    """Return whether a value is true for `if`: false, 0, nil and empty values are not."""
    if value is None or value is NO_VALUE:
        return False
    return True if kind_of(value) is Kind.STRUCT else bool(value)


def to_bytes(text: str) -> bytes:
    """Return the bytes of a Go string; characters that no encoding has become U+FFFD."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def from_bytes(data: bytes) -> str:
    """Return any bytes as a string; the inverse of `to_bytes`."""
    return data.decode("utf-8", "surrogateescape")


def clean(text: str) -> str:
    """Make a rendered text encodable: every byte that is no UTF-8 becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _STRAY_BYTE.sub("\ufffd", from_bytes(to_bytes(text)))
    return text
