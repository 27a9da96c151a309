"""The errors of the template engine.

    TemplateError          what callers see: parsing, execution and limits alike
    FunctionError          raised by a template function; becomes a TemplateError at its call
      LimitError           a limit was exceeded; carries the name of the limit

Only `TemplateError` leaves `Environment.parse` and `Template.render`. The texts are Go's, because
people search for them and tests of operators compare them.
"""

from typing import Final

_LONGEST: Final = 2000


class FunctionError(Exception):
    """A template function failed (Go: the error that a function returns)."""


class LimitError(FunctionError):
    """A limit was exceeded; `limit` is the name of the field of `Limits`."""

    def __init__(self, limit: str, maximum: float, what: str = "") -> None:
        self.limit = limit
        super().__init__(f"{limit} limit exceeded: at most {maximum}{what}")


class TemplateError(Exception):
    """A template cannot be parsed or executed.

    Attributes:
        name: the name given to `Environment.parse`.
        line: line in the source, from 1; 0 when the error belongs to no place.
        column: bytes before the place in its line, as Go counts; 0 for parse errors.
        message: the reason alone, without place and context.
        executing: name of the template (or `define`) that was running; "" for parse errors.
        context: the expression at fault as Go prints it; "" for parse errors.
        limit: name of the exceeded field of `Limits`, else "".
    """

    def __init__(
        self,
        name: str,
        message: str,
        *,
        line: int = 0,
        column: int = 0,
        executing: str = "",
        context: str = "",
        limit: str = "",
    ) -> None:
        self.name = name
        self.line = line
        self.column = column
        self.message = _cut(message)
        self.executing = executing
        self.context = _cut(context)
        self.limit = limit
        super().__init__(name, message)

    def __str__(self) -> str:
        if self.line == 0:
            return f"template: {self.name}: {self.message}"
        if not self.executing:
            return f"template: {self.name}:{self.line}: {self.message}"
        place = f"{self.name}:{self.line}:{self.column}"
        return (
            f'template: {place}: executing "{self.executing}" at <{self.context}>: {self.message}'
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (dict(vars(self)),))


def _cut(text: str) -> str:
    """Truncate a text of an error: Go quotes expressions and tokens whole, however long."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _rebuild(fields: dict[str, object]) -> TemplateError:
    error = TemplateError(str(fields["name"]), str(fields["message"]))
    vars(error).update(fields)
    return error
