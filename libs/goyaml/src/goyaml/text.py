"""Decodes the files of users: UTF-8, with or without a byte order mark, or UTF-16 with one.

Windows tools write byte order marks, and PowerShell writes UTF-16. KUDO 0.19 left files to its YAML
parser, which accepts the same encodings.
"""

import codecs
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
    mark, encoding = next((one for one in _ENCODINGS if content.startswith(one[0])), (b"", "UTF-8"))
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
