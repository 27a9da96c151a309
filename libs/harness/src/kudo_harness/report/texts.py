"""Texts of reports: bounded, and without characters that a reader cannot take."""

import re
from datetime import UTC, datetime
from typing import Final

MOST_MESSAGE: Final = 2_000
MOST_DETAILS: Final = 16_000
"""Characters of the details of one failure; the end of a log tells more than its middle."""

_NOT_XML: Final = re.compile("[^\\t\\n\\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def xml_text(text: str) -> str:
    """Return a text that XML 1.0 can hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def terminal_text(text: str) -> str:
    """Return a text that changes neither colours nor direction of a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def cut_message(text: str) -> str:
    """Return the beginning of a message."""
    return text if len(text) <= MOST_MESSAGE else text[:MOST_MESSAGE] + "…"


def cut_details(text: str) -> str:
    """Return beginning and end of details, and how much is left out between them."""
    if len(text) <= MOST_DETAILS:
        return text
    half = MOST_DETAILS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def seconds_text(seconds: float) -> str:
    """Return seconds with three decimals, as reports have them."""
    return f"{max(seconds, 0.0):.3f}"


def timestamp_text(moment: datetime) -> str:
    """Return a time in UTC with seconds, as RFC 3339."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
