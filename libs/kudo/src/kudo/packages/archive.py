"""Reads a package from a gzip-compressed tar archive, in memory.

Decompression stops at the limits, not after them. Entries other than regular files and folders are
refused, and so are paths that are absolute or go up.

The reader of tar (ustar, GNU long names and PAX headers) is our own, because it runs on archives
from strangers: it never seeks backwards, never recurses, and every size is checked against the
bytes that are there. (The one in the standard library can be sent into an endless loop by a
negative size.)
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kudo.packages.files import FileCollector, PackageFiles, PackageLimits, unreadable

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
# Bytes that long names and PAX headers may take in one archive.
_ABOUT_LIMIT: Final = 8 * 1024 * 1024
_CHUNK = 256 * 1024
# Bytes of headers and padding that a tar archive may spend on an entry.
_TAR_OVERHEAD = 2048


class TarError(ValueError):
    """The bytes are not a tar archive, or one that was cut off or damaged."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of a tar archive; `kind` is `file`, `folder` or what else it is, for messages."""

    path: str
    kind: str
    content: memoryview


def members(data: bytes) -> Iterator[Member]:
    """Yield the entries of a tar archive in order.

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
        if len(header) < _BLOCK:
            raise TarError("it ends too early")
        # The checksum counts its own field as blanks.
        if _number(header[148:156]) != sum(header[:148] + b" " * 8 + header[156:]):
            raise TarError("a header has a wrong checksum")
        size = _size(header, pax)
        start = position + _BLOCK
        content = view[start : start + size]
        position += _BLOCK + -(-size // _BLOCK) * _BLOCK
        if position > len(view):
            raise TarError("it ends within an entry")
        kind = header[156:157]
        about += size if kind in _ABOUT_ENTRIES else 0
        # One archive may have any number of headers that only describe the next one.
        if about > _ABOUT_LIMIT:
            raise TarError("its headers are too large")
        if kind == _GNU_LONG_NAME:
            long_name = _text(bytes(content).rstrip(b"\0"))
        elif kind == _PAX:
            pax = _records(bytes(content))
        elif kind not in _ABOUT_ENTRIES:
            name = header[:100].split(b"\0", 1)[0]
            if header[257:263] == b"ustar\0" and header[345]:
                # GNU tar writes "ustar  " and has times where ustar has the prefix.
                name = header[345:500].split(b"\0", 1)[0] + b"/" + name
            path = pax.get("path") or long_name or _text(name)
            if any(key.startswith("GNU.sparse.") for key in pax):
                kind = b"S"
            shown_kind = _KINDS.get(kind, "entry of unknown type")
            if shown_kind == "file" and path.endswith("/"):
                # Archives older than ustar mark a folder by the end of its name.
                shown_kind = "folder"
            yield Member(path, shown_kind, content)
            long_name, pax = None, {}


def _size(header: bytes, pax: dict[str, str]) -> int:
    kind = header[156:157]
    if kind in _WITHOUT_CONTENT:
        return 0
    if "size" not in pax or kind in _ABOUT_ENTRIES:
        return _number(header[124:136])
    # Twenty digits are more bytes than there are anywhere; int() of many is slow.
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
        # Other records may be in any encoding, and are not used; a path must be exact.
        text = _text(value[:-1]) if key == b"path" else value[:-1].decode(errors="replace")
        records[key.decode(errors="replace")] = text
        position = end
    return records


def read_archive(data: bytes, origin: str, limits: PackageLimits) -> PackageFiles:
    """Return the files in the `.tgz` archive `data`.

    Raises:
        InvalidInput: the archive is corrupt, holds something else than files and folders, has
            paths that would leave the package, or exceeds the limits.
    """
    if len(data) > limits.total_size:
        raise unreadable(origin, f"the archive is larger than {limits.total_size} bytes")
    raw = b"".join(_decompressed(data, origin, limits))
    collector = FileCollector(origin, limits)
    try:
        for member in members(raw):
            path = member.path
            collector.entry(path)
            if fault := _path_fault(path):
                collector.refuse(path, fault)
            elif member.kind not in {"file", "folder"}:
                collector.refuse(
                    path, f"a package may hold only regular files, not a {member.kind}"
                )
            elif member.kind == "file" and collector.fits(path, len(member.content)):
                clean = "/".join(part for part in path.split("/") if part not in {"", "."})
                collector.keep(clean, bytes(member.content))
    except TarError as error:
        raise unreadable(origin, f"the archive is corrupt: {error}") from error
    return collector.result()


def _path_fault(path: str) -> str:
    if path.startswith("/"):
        return "absolute paths are not allowed"
    if ".." in path.split("/"):
        return "paths must not contain .."
    if not path.isprintable():
        return "the path has non-printable characters"
    return ""


def _decompressed(data: bytes, origin: str, limits: PackageLimits) -> Iterator[bytes]:
    if not data:
        raise unreadable(origin, "the archive is empty")
    allowed = limits.total_size + limits.files * _TAR_OVERHEAD
    produced = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            # Checked chunk by chunk: a bomb of a megabyte unpacks to a gigabyte.
            while chunk := file.read(_CHUNK):
                produced += len(chunk)
                if produced > allowed:
                    raise unreadable(origin, f"the archive unpacks to more than {allowed} bytes")
                ratio = limits.compression_ratio
                if produced > max(limits.ratio_floor, ratio * len(data)):
                    text = f"the archive unpacks to more than {ratio} times its size"
                    raise unreadable(origin, text)
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise unreadable(origin, f"the archive is not valid gzip data: {error}") from error
