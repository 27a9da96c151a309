"""Reading a package from a folder: its two files and its templates, nothing else.

Links are refused, because what they point to is not part of the package. Other files, such as
documentation and the packages of child operators, are not even looked at.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from kudo.packages.files import (
    OPERATOR_FILE,
    PARAMETERS_FILE,
    FileCollector,
    PackageFiles,
    PackageLimits,
    unreadable,
)

_TEMPLATES = "templates"
_MATTERS = ".yaml"
_MISNAMED = ".yml"
"""Files that are no part of a package; they are read to tell their author so."""
_FILES = frozenset(
    name.replace(_MATTERS, suffix)
    for name in (OPERATOR_FILE, PARAMETERS_FILE)
    for suffix in (_MATTERS, _MISNAMED)
)


def read_folder(folder: Path, limits: PackageLimits) -> PackageFiles:
    """Return the files of a package that `folder` holds.

    Raises:
        InvalidInput: a file cannot be read, is a link or a device, or exceeds the limits.
    """
    collector = FileCollector(str(folder), limits)
    try:
        for path, entry in _entries(folder):
            collector.entry(path)
            _take(path, entry, collector)
    except OSError as error:
        raise unreadable(str(error.filename or folder), error.strerror or str(error)) from error
    return collector.result()


def _entries(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the entries that matter, with paths relative to `folder`."""
    for entry in _listed(folder):
        if entry.name in _FILES:
            yield entry.name, entry
        elif entry.name.startswith(_TEMPLATES) and not entry.is_file(follow_symlinks=False):
            yield from _tree(entry.name, entry)


def _tree(path: str, entry: os.DirEntry[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    pending = [(path, entry)]
    while pending:
        path, entry = pending.pop()
        yield path, entry
        if entry.is_dir(follow_symlinks=False):
            pending.extend((f"{path}/{inner.name}", inner) for inner in _listed(Path(entry.path)))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _take(path: str, entry: os.DirEntry[str], collector: FileCollector) -> None:
    if entry.is_symlink():
        collector.refuse(path, "links are not followed; put the file itself into the package")
    elif entry.is_dir(follow_symlinks=False):
        return
    elif not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
        collector.refuse(path, "a package may hold only regular files")
    elif _MATTERS not in entry.name and not entry.name.endswith(_MISNAMED):
        return
    elif collector.fits(path, entry.stat(follow_symlinks=False).st_size):
        collector.keep(path, _content(Path(entry.path)))


def _content(path: Path) -> bytes:
    # O_NOFOLLOW closes the gap between looking at the entry and opening it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
