"""Reading fields: the only way from a template into data.

A field is an entry of a mapping with string keys, or a method a value offers; nothing else has
fields. The compiled reader tries plain dicts first and falls back to `Reader`, which knows every
case and Go's words for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gotemplate.compile.runtime import Eval, Frame, Typed, Unit
from gotemplate.errors import FunctionError
from gotemplate.golang.literals import quote
from gotemplate.golang.values import NO_VALUE, MethodValue, StringMap, type_name
from gotemplate.rendering import Located
from gotemplate.types.signature import Function, from_callable

MissingKey = Literal["error", "zero", "default"]


@dataclass(slots=True)  # not frozen, which costs three times as much: most operands have one
class Reader:
    """Read a path of fields; not changed once made.

    Attributes:
        unit: the template, for errors.
        node: the expression, for errors.
        names: the path.
        missing: what a missing key gives: an error, nil (zero), or no value (default).
        typed: whether the first receiver has a type of its own, else Go calls it interface {}.
    """

    unit: Unit
    node: Located
    names: tuple[str, ...]
    missing: MissingKey
    typed: Typed

    def read(self, frame: Frame, value: object) -> object:
        """Follow the path from a value.

        Raises:
            TemplateError: a key is missing, or a value on the way has no fields.
        """
        typed = self.typed(frame)
        for name in self.names:
            typed_next = not isinstance(value, Mapping) or isinstance(value, StringMap)
            value = self._step(value, name, typed)
            typed = typed_next
        return value

    def _step(self, value: object, name: str, typed: bool) -> object:
        if isinstance(value, Mapping):
            if name in value:
                item: object = value[name]
                return item
            zero = "" if isinstance(value, StringMap) else None
            # The zero value of Go's element type: "" in a map[string]string, else nil.
            return self._missing(f"map has no entry for key {quote(name)}", zero)
        if value is NO_VALUE:
            return self.absent(name)
        method = self.method(value, name, typed)
        self.check_arity(method, 0, 0)
        return self.call(method, ())

    def absent(self, name: str) -> object:
        """Return the field of what is not there.

        Raises:
            TemplateError: a missing key is an error.
        """
        return self._missing(f"nil data; no entry for key {quote(name)}", NO_VALUE)

    def method(self, value: object, name: str, typed: bool) -> Function:
        """Find a method; of a value that has none, say so before its arguments are evaluated.

        Raises:
            TemplateError: there is no such method.
        """
        if value is None:
            raise self.unit.error(self.node, f"nil pointer evaluating interface {{}}.{name}")
        if isinstance(value, Mapping):
            raise self.unit.error(self.node, f"{name} is not a method but has arguments")
        method = value.go_method(name) if isinstance(value, MethodValue) else None
        if method is None:
            go_type = type_name(value) if typed else "interface {}"
            raise self.unit.error(self.node, f"can't evaluate field {name} in type {go_type}")
        if isinstance(method, Function):
            return method
        assert callable(method)
        return from_callable(name, method)

    def check_arity(self, method: Function, written: int, given: int) -> None:
        """Check the number of a method's arguments.

        Raises:
            TemplateError: there are too few or too many.
        """
        if problem := method.arity_error(written, given):
            raise self.unit.error(self.node, problem)

    def call(self, method: Function, args: Sequence[object]) -> object:
        """Call a method with checked arguments.

        Raises:
            TemplateError: it failed.
        """
        try:
            return method.call(*args)
        except FunctionError as error:
            raise self.unit.call_error(self.node, method.name, error) from error

    def _missing(self, message: str, otherwise: object = None) -> object:
        if self.missing == "error":
            raise self.unit.error(self.node, message)
        return NO_VALUE if self.missing == "default" else otherwise


def of_dot(reader: Reader) -> Eval:
    """Compile a path that starts at the dot."""
    slow = reader.read
    # Nearly all paths of templates have one or two names, which need no loop.
    if len(reader.names) == 1:
        name = reader.names[0]

        def one(frame: Frame, dot: object) -> object:
            if type(dot) is dict and name in dot:
                return dot[name]
            return slow(frame, dot)

        return one
    if len(reader.names) == 2:
        first, second = reader.names

        def two(frame: Frame, dot: object) -> object:
            if type(dot) is dict:
                inner = dot.get(first)
                if type(inner) is dict and second in inner:
                    return inner[second]
            return slow(frame, dot)

        return two

    def many(frame: Frame, dot: object) -> object:
        return slow(frame, dot)

    return many


def of_slot(slot: int, reader: Reader) -> Eval:
    """Compile a path that starts at a variable."""
    if len(reader.names) == 1:
        name, slow = reader.names[0], reader.read

        def one(frame: Frame, _dot: object) -> object:
            value = frame.slots[slot]
            if type(value) is dict and name in value:
                return value[name]
            return slow(frame, value)

        return one
    path = of_dot(reader)

    def read(frame: Frame, _dot: object) -> object:
        return path(frame, frame.slots[slot])

    return read


def of_value(value: Eval, reader: Reader) -> Eval:
    """Compile a path that starts at an expression."""
    path = of_dot(reader)

    def read(frame: Frame, dot: object) -> object:
        return path(frame, value(frame, dot))

    return read
