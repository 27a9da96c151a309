"""Reading a package from a gzip-compressed tar archive, in memory.

Decompression stops at the limits, not after them. Entries other than regular files and folders are
refused, and so are paths that are absolute or go up.
"""

import gzip
import io
import zlib
from collections.abc import Iterator

from kudo.packages.files import FileCollector, PackageFiles, PackageLimits, unreadable
from kudo.packages.tar import Entry, TarError, entries

_CHUNK = 256 * 1024
_TAR_OVERHEAD = 2048
"""Bytes of headers and padding that a tar archive may spend on an entry."""


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
        for entry in entries(raw):
            collector.entry(entry.path)
            _take(entry, collector)
    except TarError as error:
        raise unreadable(origin, f"the archive is corrupt: {error}") from error
    return collector.result()


def _take(entry: Entry, collector: FileCollector) -> None:
    fault = _path_fault(entry.path)
    if fault:
        collector.refuse(entry.path, fault)
    elif entry.kind == "folder":
        return
    elif entry.kind != "file":
        collector.refuse(entry.path, f"a package may hold only regular files, not a {entry.kind}")
    elif collector.fits(entry.path, len(entry.content)):
        collector.keep(_clean(entry.path), bytes(entry.content))


def _path_fault(path: str) -> str:
    if path.startswith("/"):
        return "absolute paths are not allowed"
    if ".." in path.split("/"):
        return "paths must not contain .."
    if not path.isprintable():
        return "the path has non-printable characters"
    return ""


def _clean(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in {"", "."})


def _decompressed(data: bytes, origin: str, limits: PackageLimits) -> Iterator[bytes]:
    allowed = limits.total_size + limits.files * _TAR_OVERHEAD
    produced = 0
    for chunk in _inflated(data, origin):
        produced += len(chunk)
        if produced > allowed:
            raise unreadable(origin, f"the archive unpacks to more than {allowed} bytes")
        if produced > max(limits.ratio_floor, limits.compression_ratio * len(data)):
            raise unreadable(
                origin,
                f"the archive unpacks to more than {limits.compression_ratio} times its size",
            )
        yield chunk


def _inflated(data: bytes, origin: str) -> Iterator[bytes]:
    if not data:
        raise unreadable(origin, "the archive is empty")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise unreadable(origin, f"the archive is not valid gzip data: {error}") from error
