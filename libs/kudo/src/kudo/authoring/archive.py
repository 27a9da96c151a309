"""Creates the archive of a package: the same bytes for the same files, on any machine.

Members are named relative to the package and sorted; times, owners and modes are fixed. The bytes
also depend on the version of zlib, so a digest can be compared only between equal versions of it.
"""

import gzip
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kudo.api.problems import InvalidInput, Problem
from kudo.authoring.ignore import IGNORE_FILE, MOST_BYTES, IgnoreRules, parse_ignore_file
from kudo.packages.files import (
    DEFAULT_LIMITS,
    OPERATOR_FILE,
    FileCollector,
    PackageFiles,
    PackageLimits,
    unreadable,
)
from kudo.packages.model import OperatorFile
from kudo.packages.reader import ARCHIVE_SUFFIX

_NEVER: Final = frozenset({".git", ".hg", ".svn"})
"""Folders of version control, which are larger than any package and may contain secrets."""
_MODE: Final = 0o644
_LEVEL: Final = 9


@dataclass(frozen=True, slots=True)
class Collected:
    """The files of an archive to be.

    Attributes:
        files: By their path relative to the package.
        left_out: Paths of links, devices and the like.
    """

    files: PackageFiles
    left_out: tuple[str, ...]


def archive_name(operator: OperatorFile) -> str:
    """Return the file name of KUDO 0.19: `name-1.0.0.tgz`, with appVersion `name-2.0_1.0.0.tgz`.

    Raises:
        InvalidInput: name and versions do not make up the name of a file.
    """
    versions = "_".join(filter(None, (operator.app_version, operator.operator_version)))
    name = f"{operator.name}-{versions}{ARCHIVE_SUFFIX}"
    if not operator.name or "/" in name or not name.isprintable():
        text = f"name and versions make up {name!r}, which cannot be the name of a file"
        raise InvalidInput([Problem("PackageInvalid", text, OPERATOR_FILE)])
    return name


def collect(
    folder: Path, *, target: Path | None = None, limits: PackageLimits = DEFAULT_LIMITS
) -> Collected:
    """Return all regular files of a folder that its `.kudoignore` does not exclude.

    Args:
        folder: The folder of the package. Folders of version control in it are left out.
        target: The archive to be, which is left out: it may be in the folder.
        limits: How much a package may hold.

    Raises:
        InvalidInput: a file cannot be read, or there is more than the limits allow.
    """
    collector, left_out = FileCollector(str(folder), limits), []
    try:
        rules = _rules(folder)
        for path, entry in _entries(folder, rules):
            if target is not None and _is_same(entry, target):
                continue
            if not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                left_out.append(path)
                continue
            collector.entry(path)
            if collector.fits(path, entry.stat(follow_symlinks=False).st_size):
                collector.keep(path, Path(entry.path).read_bytes())
    except OSError as error:
        raise unreadable(str(error.filename or folder), error.strerror or str(error)) from error
    return Collected(collector.result(), tuple(left_out))


def pack(files: PackageFiles) -> bytes:
    """Return a gzip-compressed tar archive."""
    compressed = io.BytesIO()
    # Without a name and a time in the header, which would differ from run to run.
    with (
        gzip.GzipFile("", "wb", _LEVEL, compressed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, content in files.walk():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), _MODE
            member.uname = member.gname = "root"
            archive.addfile(member, io.BytesIO(content))
    return compressed.getvalue()


def _rules(folder: Path) -> IgnoreRules:
    file = folder / IGNORE_FILE
    try:
        # Reading a device or a pipe might never end.
        if not stat.S_ISREG(file.lstat().st_mode):
            raise InvalidInput([Problem("PackageUnsafe", "not a regular file", IGNORE_FILE)])
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return IgnoreRules()
    return parse_ignore_file(content)


def _entries(folder: Path, rules: IgnoreRules) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield everything but folders, with paths relative to `folder`."""
    pending = [("", folder)]
    while pending:
        prefix, place = pending.pop()
        with os.scandir(place) as found:
            entries = list(found)
        for entry in entries:
            path, is_folder = f"{prefix}{entry.name}", entry.is_dir(follow_symlinks=False)
            if rules.ignores(path, folder=is_folder) or (is_folder and entry.name in _NEVER):
                continue
            if is_folder:
                pending.append((f"{path}/", Path(entry.path)))
            else:
                yield path, entry


def _is_same(entry: os.DirEntry[str], target: Path) -> bool:
    return entry.name == target.name and os.path.realpath(entry.path) == os.path.realpath(target)
