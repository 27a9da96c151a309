"""Numbers of templates: Go's ideal constants.

A number keeps every type that can hold it; the place where it is used decides which one counts.
"""

from gotemplate.golang.literals import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    character,
    parse_float,
    parse_integer,
)
from gotemplate.golang.quoting import quote
from gotemplate.parse import nodes
from gotemplate.parse.lexer import T, Token


def number(token: Token) -> nodes.Number:
    """Read a number token.

    Raises:
        ValueError: it is not a number; the text is Go's.
    """
    if token.kind == T.CHARACTER:
        code = character(token.text)
        return nodes.Number(token.pos, token.text, code, code, float(code))
    if token.kind == T.COMPLEX or token.text.endswith("i"):
        return _complex(token)
    whole = parse_integer(token.text)
    if whole is not None and whole <= UINT_MAX and whole >= INT_MIN:
        integer = whole if whole <= INT_MAX else None
        unsigned = whole if whole >= 0 and token.text[0] != "+" else None
        if integer is not None or unsigned is not None:
            return nodes.Number(token.pos, token.text, integer, unsigned, float(whole))
    return _float(token)


def _float(token: Token) -> nodes.Number:
    text = token.text
    value = parse_float(text)
    if value is None:
        raise ValueError(f"illegal number syntax: {quote(text)}")
    if not any(mark in text for mark in ".eEpP"):
        raise ValueError(f"integer overflow: {quote(text)}")
    integer = int(value) if value.is_integer() and INT_MIN <= value <= INT_MAX else None
    unsigned = int(value) if value.is_integer() and 0 <= value <= UINT_MAX else None
    return nodes.Number(token.pos, text, integer, unsigned, value)


def _complex(token: Token) -> nodes.Number:
    text = token.text.removesuffix("i")
    split = max(text.rfind(mark) for mark in "+-") if token.kind == T.COMPLEX else 0
    while split > 0 and text[split - 1] in "eEpP":
        split = max(text.rfind(mark, 0, split) for mark in "+-")
    split = max(split, 0)
    parts = [parse_float(part) for part in (text[:split] or "0", text[split:])]
    real, imaginary = parts
    if real is None or imaginary is None:
        raise ValueError(f"illegal number syntax: {quote(token.text)}")
    return nodes.Number(token.pos, token.text, complex_value=complex(real, imaginary))


def ideal(constant: nodes.Number) -> int | float | complex | None:
    """Return the value of a constant where any type will do; None when no int can hold it."""
    if constant.complex_value is not None:
        return constant.complex_value
    text = constant.text
    is_hex = text[:2] in ("0x", "0X") and not any(mark in text for mark in "pP")
    has_mark = any(mark in text for mark in ".eEpP")
    if constant.floating is not None and has_mark and not is_hex and text[0] != "'":
        return constant.floating
    return constant.integer
