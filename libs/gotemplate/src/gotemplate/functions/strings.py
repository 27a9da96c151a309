"""Sprig's functions on texts."""

from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.signature import ANY, INT, STRING, Function
from gotemplate.gofmt import plain_text
from gotemplate.limits import Run
from gotemplate.quoting import quote

# What Go calls space; Python's strip() takes the separators U+001C to U+001F away too.
SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def trim(text: str) -> str:
    """Take space away from both ends."""
    return text.strip(SPACE)


def upper(run: Run, text: str) -> str:
    """Make every letter upper case, one for one: no letter becomes two."""
    changed = text.upper()
    if len(changed) == len(text):
        return changed
    run.charge(len(text) >> 2)
    return "".join(map(_upper_rune, text))


def _upper_rune(rune: str) -> str:
    for changed in (rune.upper(), rune.title()):
        if len(changed) == 1:
            return changed
    return rune


def lower(text: str) -> str:
    """Make every letter lower case, one for one."""
    if text.isascii():
        return text.lower()
    # Two letters that Python does not treat one for one, or not without their neighbours.
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def indent(run: Run, spaces: int, text: str) -> str:
    """Put spaces before every line, the empty ones too.

    Raises:
        FunctionError: the number is negative.
    """
    if spaces < 0:
        raise FunctionError("strings: negative Repeat count")
    run.check("width", spaces)
    run.check("string", len(text) + spaces * (text.count("\n") + 1))
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def nindent(run: Run, spaces: int, text: str) -> str:
    """Begin a new line, then `indent`."""
    return "\n" + indent(run, spaces, text)


def quoted(run: Run, *values: object) -> str:
    """Write values as Go literals in double quotes, with spaces between; nil is left out."""
    texts = [plain_text(run, value) for value in values if value is not None]
    run.check("string", sum(map(len, texts)))
    return " ".join(map(quote, texts))


FUNCTIONS: Final = (
    Function("trim", trim, (STRING,)),
    Function("upper", upper, (STRING,), uses_run=True),
    Function("lower", lower, (STRING,)),
    Function("indent", indent, (INT, STRING), uses_run=True),
    Function("nindent", nindent, (INT, STRING), uses_run=True),
    Function("quote", quoted, (), ANY, uses_run=True),
)
