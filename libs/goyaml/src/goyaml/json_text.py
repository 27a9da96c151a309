"""What JSON allows and YAML does not: surrogate pairs, and documents without `---` between them.

The patterns never go back over what they matched, so their time is linear.
"""

import re
from collections.abc import Iterator
from typing import Final

_STRING: Final = r'"(?:[^"\\]++|\\.)*+"'
_TOKENS: Final = re.compile(
    rf"(?:[\s{{}}\[\],:]++|{_STRING}|[-+.0-9eE]++|true|false|null)*+", re.DOTALL
)
_DOCUMENT: Final = re.compile(rf'(?:[^"}}]++|{_STRING}|\}}(?!\s*+\{{))*+\}}(?=\s*+\{{)', re.DOTALL)
"""Up to a brace that another one follows: inside of a document a comma would be between."""
_HIGH: Final = re.compile(r"\\u[dD][89abAB]")
_ESCAPE: Final = re.compile(r"\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)|\\.", re.DOTALL)


def json_documents(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in a text its documents begin and end: one, unless it is JSON and has several."""
    start = 0
    if _DOCUMENT.match(text) and _is_json(text):
        while (found := _DOCUMENT.match(text, start)) is not None:
            yield start, found.end()
            start = found.end()
    yield start, len(text)


def with_whole_characters(text: str) -> str:
    """Return a JSON text with each pair of escaped surrogates as one escape that YAML knows.

    Other texts stay as they are: there a backslash need not begin an escape.
    """
    if not (_HIGH.search(text) and _is_json(text)):
        return text
    return _ESCAPE.sub(_whole, text)


def _whole(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[0]
    try:
        units = bytes.fromhex(escape[1] + escape[2])
    except ValueError:  # no digits, which the parser reports
        return escape[0]
    return f"\\U{ord(units.decode('utf-16-be')):08x}"


def _is_json(text: str) -> bool:
    """Return whether a text has only tokens of JSON, in whatever order."""
    return _TOKENS.fullmatch(text) is not None
