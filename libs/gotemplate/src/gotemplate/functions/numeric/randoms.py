"""Sprig's random functions; the random bytes come from the `Sources` of the `Environment`."""

import base64
import string
import uuid
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from gotemplate.errors import FunctionError
from gotemplate.golang.runes import runes
from gotemplate.limits import Rendering
from gotemplate.sources import Sources
from gotemplate.types.signature import INT, STRING, Function

_ASCII: Final = "".join(map(chr, range(32, 127)))
_UUID_BYTES: Final = 16

_Item = TypeVar("_Item")


def below(sources: Sources, limit: int) -> int:
    """Return a uniformly random number from 0 up to, but not including, `limit`."""
    bits = (limit - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        number = int.from_bytes(sources.random(size), "big") >> (size * 8 - bits)
        if number < limit:
            return number


def choice(sources: Sources, items: Sequence[_Item]) -> _Item:
    """Return a random item of a sequence that is not empty."""
    return items[below(sources, len(items))]


def _text_of(characters: str) -> Callable[[Rendering, int], str]:
    def make(run: Rendering, length: int) -> str:
        _afford(run, length)
        return "".join(choice(run.sources, characters) for _ in range(length))

    return make


def rand_bytes(run: Rendering, count: int) -> str:
    """Return that many random bytes in base64.

    Raises:
        FunctionError: the number is negative.
    """
    if count < 0:
        raise FunctionError("runtime error: makeslice: len out of range")
    _afford(run, count)
    return base64.b64encode(run.sources.random(count)).decode()


def rand_int(run: Rendering, low: int, high: int) -> int:
    """Return a random number from the first up to, but not including, the second.

    Raises:
        FunctionError: there is none.
    """
    if high <= low:
        raise FunctionError("invalid argument to Intn")
    return low + below(run.sources, high - low)


def shuffle(run: Rendering, text: str) -> str:
    """Shuffle the characters of a text."""
    _afford(run, len(text))
    left = list(runes(text))
    for end in range(len(left) - 1, 0, -1):
        other = below(run.sources, end + 1)
        left[end], left[other] = left[other], left[end]
    return "".join(left)


def uuidv4(run: Rendering) -> str:
    """Return a random UUID."""
    return str(uuid.UUID(bytes=run.sources.random(_UUID_BYTES), version=4))


def _afford(run: Rendering, length: int) -> None:
    run.check("string", length)
    run.charge(max(length, 0) >> 1)


FUNCTIONS: Final = (
    Function(
        "randAlphaNum", _text_of(string.digits + string.ascii_letters), (INT,), uses_rendering=True
    ),
    Function("randAlpha", _text_of(string.ascii_letters), (INT,), uses_rendering=True),
    Function("randNumeric", _text_of(string.digits), (INT,), uses_rendering=True),
    Function("randAscii", _text_of(_ASCII), (INT,), uses_rendering=True),
    Function("randBytes", rand_bytes, (INT,), uses_rendering=True),
    Function("randInt", rand_int, (INT, INT), uses_rendering=True),
    Function("shuffle", shuffle, (STRING,), uses_rendering=True),
    Function("uuidv4", uuidv4, uses_rendering=True),
)
