"""The entries of a tar archive in memory: ustar, GNU long names and PAX headers.

A reader of our own, because it runs on archives from strangers: it never seeks backwards, never
recurses, and every size is checked against the bytes that are there. (The one in the standard
library can be sent into an endless loop by a negative size.)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BLOCK: Final = 512
_END: Final = bytes(_BLOCK)
_KINDS: Final = {
    b"\0": "file",
    b"0": "file",
    b"7": "file",
    b"1": "hard link",
    b"2": "symbolic link",
    b"3": "character device",
    b"4": "block device",
    b"5": "folder",
    b"6": "named pipe",
    b"S": "sparse file",
}
_GNU_LONG_NAME: Final = b"L"
_GNU_LONG_LINK: Final = b"K"
_PAX: Final = b"x"
_PAX_GLOBAL: Final = b"g"
_WITHOUT_CONTENT: Final = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
_ABOUT_ENTRIES: Final = frozenset({_GNU_LONG_NAME, _GNU_LONG_LINK, _PAX, _PAX_GLOBAL})
_LENGTH_DIGITS: Final = 10
_ABOUT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes that long names and PAX headers may take in one archive."""


class TarError(ValueError):
    """The bytes are not a tar archive, or one that was cut off or damaged."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `kind` is `file`, `folder` or the name of something else, for messages."""

    path: str
    kind: str
    content: memoryview


def entries(data: bytes) -> Iterator[Entry]:
    """Yield the entries of the archive `data` in order.

    Raises:
        TarError: a header is damaged, or the archive ends within an entry.
    """
    view = memoryview(data)
    position = about = 0
    long_name: str | None = None
    pax: dict[str, str] = {}
    while True:
        header = bytes(view[position : position + _BLOCK])
        if not header or header == _END:
            return
        _check(header)
        size = _size(header, pax)
        content = _content(view, position + _BLOCK, size)
        position += _BLOCK + -(-size // _BLOCK) * _BLOCK
        if position > len(view):
            raise TarError("it ends within an entry")
        kind = header[156:157]
        about += size if kind in _ABOUT_ENTRIES else 0
        if about > _ABOUT_LIMIT:
            raise TarError("its headers are too large")
        if kind == _GNU_LONG_NAME:
            long_name = _text(bytes(content).rstrip(b"\0"))
        elif kind == _PAX:
            pax = _records(bytes(content))
        elif kind not in _ABOUT_ENTRIES:
            path = pax.get("path") or long_name or _name(header)
            yield Entry(path, _kind(kind, path, pax), content)
            long_name, pax = None, {}


def _check(header: bytes) -> None:
    if len(header) < _BLOCK:
        raise TarError("it ends too early")
    blanked = header[:148] + b" " * 8 + header[156:]
    if _number(header[148:156]) != sum(blanked):
        raise TarError("a header has a wrong checksum")


def _size(header: bytes, pax: dict[str, str]) -> int:
    kind = header[156:157]
    if kind in _WITHOUT_CONTENT:
        return 0
    if "size" not in pax or kind in _ABOUT_ENTRIES:
        return _number(header[124:136])
    if not (pax["size"].isascii() and pax["size"].isdecimal() and len(pax["size"]) < 20):
        raise TarError("a size is not a number")
    return int(pax["size"])


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        # Base 256, for sizes beyond octal. Negative numbers have the second bit set, too.
        if field[0] & 0x40:
            raise TarError("a number is negative")
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.strip(b" \0")
    if not all(byte in b"01234567" for byte in digits):
        raise TarError("a number is not octal")
    return int(digits or b"0", 8)


def _content(view: memoryview, start: int, size: int) -> memoryview:
    content = view[start : start + size]
    if len(content) < size:
        raise TarError("it ends within an entry")
    return content


def _kind(flag: bytes, path: str, pax: dict[str, str]) -> str:
    if any(key.startswith("GNU.sparse.") for key in pax):
        return _KINDS[b"S"]
    kind = _KINDS.get(flag, "entry of unknown type")
    # Archives older than ustar mark a folder by the end of its name.
    return "folder" if kind == "file" and path.endswith("/") else kind


def _name(header: bytes) -> str:
    name = _field(header[:100])
    prefix = _field(header[345:500]) if header[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _field(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise TarError("a name is not UTF-8 text") from error


def _records(content: bytes) -> dict[str, str]:
    """Return the `length key=value` records of a PAX header."""
    records: dict[str, str] = {}
    position = 0
    while position < len(content):
        blank = content.find(b" ", position, position + _LENGTH_DIGITS)
        digits = content[position:blank] if blank > 0 else b""
        if not digits.isdigit():
            raise TarError("a PAX header is damaged")
        end = position + int(digits)
        key, equals, value = content[blank + 1 : end].partition(b"=")
        if end > len(content) or not equals or not value.endswith(b"\n"):
            raise TarError("a PAX header is damaged")
        records[key.decode(errors="replace")] = _value(key, value[:-1])
        position = end
    return records


def _value(key: bytes, value: bytes) -> str:
    return _text(value) if key == b"path" else value.decode(errors="replace")
