"""Sprig's encodings."""

import binascii
import re
from typing import Final

from gotemplate.functions.signature import STRING, Function
from gotemplate.values import from_bytes, to_bytes

_BASE64: Final = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DIGITS: Final = re.compile(rb"[A-Za-z0-9+/\r\n]*")


def b64dec(text: str) -> str:
    """Decode base64; bad input gives the text of Go's error, as in Sprig."""
    data = to_bytes(text)
    packed = data.translate(None, b"\r\n")
    if _BASE64.fullmatch(packed):
        return from_bytes(binascii.a2b_base64(packed))
    return f"illegal base64 data at input byte {_bad_byte(data)}"


def _bad_byte(data: bytes) -> int:
    """Find the byte Go's decoder stops at."""
    match = _DIGITS.match(data)
    end = match.end() if match else 0
    # Where the last, unfinished group of four begins, in digits before `end`.
    digits = len(data[:end].translate(None, b"\r\n"))
    if end == len(data):
        return _unfinished(data, digits % 4)
    if data[end : end + 1] != b"=" or digits % 4 < 2:
        return end
    if digits % 4 == 2:
        second = end + 1
        while data[second : second + 1] in (b"\r", b"\n"):
            second += 1
        if second == len(data):
            return second
        if data[second : second + 1] != b"=":
            return second - 1
        end = second
    end += 1
    while data[end : end + 1] in (b"\r", b"\n"):
        end += 1
    return end


def _unfinished(data: bytes, missing: int) -> int:
    """Give the place Go names when the input ends inside a group."""
    return len(data) - missing


FUNCTIONS: Final = (Function("b64dec", b64dec, (STRING,)),)
