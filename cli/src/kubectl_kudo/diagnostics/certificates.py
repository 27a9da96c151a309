"""Reads until when a certificate is valid, without a library for certificates.

The command line depends on none. Of DER only the tag and the length of each value are read.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

_PEM: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]{1,65536})-----END CERTIFICATE-----"
)
_VERSION: Final = 0xA0
_FIELDS_BEFORE_VALIDITY: Final = 3
"""Serial number, signature algorithm, issuer."""
_UTC_TIME: Final = 0x17


def expiries(pem: str) -> tuple[datetime, ...]:
    """Return until when each certificate of a PEM text is valid; unreadable ones are left out."""
    found = (_expiry(match[1]) for match in _PEM.finditer(pem))
    return tuple(moment for moment in found if moment is not None)


def _expiry(text: str) -> datetime | None:
    try:
        certificate = _content(base64.b64decode(text))
        fields = list(_values(_content(certificate)))
        at = _FIELDS_BEFORE_VALIDITY + (fields[0][0] == _VERSION)
        tag, moment = list(_values(fields[at][1]))[1]
        digits = moment.decode("ascii")
        form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
        return datetime.strptime(digits, form).replace(tzinfo=UTC)
    except (binascii.Error, IndexError, ValueError):
        return None


def _content(der: bytes) -> bytes:
    """Return the content of the first value; raises ValueError if there is none."""
    for _, content in _values(der):
        return content
    raise ValueError("empty")


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of the values that follow each other.

    Raises:
        IndexError, ValueError: they are cut off.
    """
    at = 0
    while at < len(der):
        tag, length, begin = der[at], der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[begin : begin + size], "big")
            begin += size
        if begin + length > len(der):
            raise ValueError("cut off")
        yield tag, der[begin : begin + length]
        at = begin + length
