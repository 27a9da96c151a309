"""The text of files: its encoding, and what JSON allows and YAML does not.

Files are UTF-8, with or without a byte order mark, or UTF-16 with one. Windows tools write byte
order marks, and PowerShell writes UTF-16. KUDO 0.19 left files to its YAML parser, which accepts
the same encodings.

JSON has surrogate pairs, and documents without `---` between them. The patterns never go back over
what they matched, so their time is linear.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Final

BYTE_ORDER_MARK: Final = "\ufeff"
_ENCODINGS: Final = (
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16-LE"),
    (codecs.BOM_UTF16_BE, "UTF-16-BE"),
)


class NotTextError(ValueError):
    """The content is no text.

    Attributes:
        reason: What is wrong, with the offset, and what to do.
        offset: The byte at fault, from 0.
        line, column: Its place, from 1.
    """

    def __init__(self, reason: str, offset: int, line: int, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
        self.line = line
        self.column = column


def decode(content: bytes) -> str:
    """Return the text of a file, without its byte order mark.

    Raises:
        NotTextError: it is neither UTF-8 nor UTF-16 with a byte order mark, or has a NUL character.
    """
    mark, encoding = next(
        (each for each in _ENCODINGS if content.startswith(each[0])), (b"", "UTF-8")
    )
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding[:6].rstrip("-")
        before = error.object[: error.start].decode(encoding, "replace")
        raise _not_text(f"not {name} text", len(mark) + error.start, before) from error
    if "\0" in text:
        before = text[: text.index("\0")]
        offset = len(mark) + len(before.encode(encoding))
        raise _not_text("a NUL character", offset, before)
    return text


def _not_text(what: str, offset: int, before: str) -> NotTextError:
    reason = f"{what} at byte {offset}; save the file as UTF-8"
    return NotTextError(reason, offset, before.count("\n") + 1, len(before) - before.rfind("\n"))


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
        while (document := _DOCUMENT.match(text, start)) is not None:
            yield start, document.end()
            start = document.end()
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
