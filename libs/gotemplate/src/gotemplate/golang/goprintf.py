"""Go's printf: reading a format and handing its arguments to the printer.

A directive is `%`, flags, an optional `[index]`, width, precision and a verb. Mistakes are written
into the output as Go does (`%!d(string=x)`, `%!s(MISSING)`, `%!(EXTRA int=1)`), they are no
errors.
"""

import re
from collections.abc import Sequence
from typing import Final

from gotemplate.golang.gofmt import Printer, Spec
from gotemplate.golang.values import type_name
from gotemplate.rendering import Rendering

_TOO_LARGE: Final = 1_000_000
_FLAGS: Final = re.compile(r"[#0+\- ]*")
_FLAG_NAMES: Final = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
_DIGITS: Final = re.compile(r"[0-9]*")
_INDEX: Final = re.compile(r"\[([^\]]*)\]")


def sprintf(run: Rendering, template: str, args: Sequence[object]) -> str:
    """Write arguments by a format (Go's Sprintf).

    Raises:
        LimitError: the text, a width or a precision is larger than the limits allow.
    """
    return _Directives(run, template, args).text()


def _small(digits: str) -> int | None:
    """Read a number as Go's formats do, which give up once it passes a million."""
    # Bounded before `int`: a format of a tenant may have any number of digits.
    significant = digits.lstrip("0")
    if not digits.isascii() or not digits.isdecimal() or len(significant) > 8:
        return None
    if int(significant[:-1] or 0) > _TOO_LARGE:
        return None
    return int(significant or 0)


class _Directives:
    """One pass over one format."""

    def __init__(self, run: Rendering, template: str, args: Sequence[object]) -> None:
        self._format = template
        self._args = args
        self._run = run
        self._printer = Printer(run)
        self._position = 0
        self._arg = 0
        self._reordered = False
        self._good_index = True
        self._after_index = False

    def text(self) -> str:
        printer, text = self._printer, self._format
        while True:
            percent = text.find("%", self._position)
            if percent < 0:
                printer.put(text[self._position :])
                break
            printer.put(text[self._position : percent])
            self._position = percent + 1
            if not self._directive():
                printer.put("%!(NOVERB)")
                break
        # Go reports extra arguments only where none was chosen by its number.
        if not self._reordered and self._arg < len(self._args):
            self._extra()
        return printer.text()

    def _directive(self) -> bool:
        """Handle one directive; False when the format ends before its verb."""
        self._run.charge(1)
        spec = self._printer.spec = Spec()
        self._good_index = True
        self._after_index = False
        self._flags(spec)
        self._index()
        self._width(spec)
        self._precision(spec)
        if not self._after_index:
            self._index()
        if self._position >= len(self._format):
            return False
        verb = self._format[self._position]
        self._position += 1
        self._verb(verb, spec)
        return True

    def _verb(self, verb: str, spec: Spec) -> None:
        printer = self._printer
        if verb == "%":
            printer.put("%")
        elif not self._good_index:
            printer.put(f"%!{verb}(BADINDEX)")
        elif self._arg >= len(self._args):
            printer.put(f"%!{verb}(MISSING)")
        else:
            if verb in "vw":
                spec.for_v()
            # A width makes a text that is larger than all that goes in.
            self._check(spec.width)
            self._check(spec.precision)
            printer.value(self._args[self._arg], verb)
            self._arg += 1

    def _check(self, number: int | None) -> None:
        self._run.check("width", number or 0)

    def _flags(self, spec: Spec) -> None:
        match = _FLAGS.match(self._format, self._position)
        if match and match.end() > self._position:
            for flag in match[0]:
                setattr(spec, _FLAG_NAMES[flag], True)
            self._position = match.end()

    def _index(self) -> None:
        """Read `[n]`, which chooses the argument."""
        text, position = self._format, self._position
        if not text.startswith("[", position):
            self._after_index = False
            return
        self._reordered = True
        match = _INDEX.match(text, position)
        if match is None:
            self._good_index = False
            self._position += 1
            self._after_index = False
            return
        self._position = match.end()
        number = _small(match[1])
        self._after_index = number is not None
        if number is not None and 0 < number <= len(self._args):
            self._arg = number - 1
        else:
            self._good_index = False

    def _number(self) -> int | None:
        match = _DIGITS.match(self._format, self._position)
        if match is None or match.end() == self._position:
            return None
        number = _small(match[0])
        # Go gives up on the whole format once a number is too large.
        self._position = match.end() if number is not None else len(self._format)
        return number

    def _from_argument(self) -> int | None:
        """Take a width or precision from the arguments (`*`)."""
        self._position += 1
        if self._arg >= len(self._args):
            return None
        value = self._args[self._arg]
        self._arg += 1
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _TOO_LARGE:
            return None
        return value

    def _width(self, spec: Spec) -> None:
        if not self._format.startswith("*", self._position):
            spec.width = self._number()
            # `%[3]2d`: an index chooses an argument, so it has to stand before `*` or the verb.
            if self._after_index and spec.width is not None:
                self._good_index = False
            return
        spec.width = self._from_argument()
        if spec.width is None:
            self._printer.put("%!(BADWIDTH)")
        elif spec.width < 0:
            # Go: a negative width of `*` pads on the right, where zeros would change the number.
            spec.width, spec.minus, spec.zero = -spec.width, True, False
        self._after_index = False

    def _precision(self, spec: Spec) -> None:
        position = self._position
        if not self._format.startswith(".", position) or position + 1 >= len(self._format):
            return
        self._position += 1
        if self._after_index:
            self._good_index = False
        self._index()
        if not self._format.startswith("*", self._position):
            spec.precision = self._number() or 0
            return
        spec.precision = self._from_argument()
        if spec.precision is None or spec.precision < 0:
            spec.precision = None
            self._printer.put("%!(BADPREC)")
        self._after_index = False

    def _extra(self) -> None:
        printer = self._printer
        printer.spec = Spec()
        printer.put("%!(EXTRA ")
        for index, value in enumerate(self._args[self._arg :]):
            if index:
                printer.put(", ")
            if value is None:
                printer.put("<nil>")
            else:
                printer.put(f"{type_name(value)}=")
                printer.value(value, "v")
        printer.put(")")
