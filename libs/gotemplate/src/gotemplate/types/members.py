"""Fields of values, and the methods and fields that templates may not use."""

from dataclasses import dataclass

from gotemplate.types.signature import Function


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
