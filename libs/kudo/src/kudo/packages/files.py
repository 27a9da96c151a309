"""The files of a package in memory, the limits on them, and reading them from a folder.

Of a folder, its two files, its templates and its scripts are read and nothing else: other files,
such as documentation and the packages of child operators, are not even looked at. Links are
refused, because what they point to is not part of the package.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kudo.api import bounds
from kudo.api.problems import InvalidInput, Problem
from kudo.api.task_kinds.job import SCRIPTS

OPERATOR_FILE: Final = "operator.yaml"
PARAMETERS_FILE: Final = "params.yaml"
TEMPLATES: Final = "templates"

_SUFFIX: Final = ".yaml"
# Files that are no part of a package; they are read to tell their author so.
_MISNAMED: Final = ".yml"
_FILES: Final = frozenset(
    name.replace(_SUFFIX, suffix)
    for name in (OPERATOR_FILE, PARAMETERS_FILE)
    for suffix in (_SUFFIX, _MISNAMED)
)


@dataclass(frozen=True, slots=True)
class PackageLimits:
    """How much a package may hold.

    Attributes:
        files: Number of entries, folders included.
        file_size: Bytes of one file.
        total_size: Bytes of all files together, and of an archive before and after decompression.
        path_length: Characters of a path inside the package.
        compression_ratio: Bytes that one byte of an archive may become; checked only above
            `ratio_floor` bytes, because small repetitive texts compress far.
        ratio_floor: See `compression_ratio`.
    """

    files: int = 5_000
    file_size: int = 8 * 1024 * 1024
    total_size: int = 32 * 1024 * 1024
    path_length: int = 500
    compression_ratio: int = 200
    ratio_floor: int = 1024 * 1024


DEFAULT_LIMITS: Final = PackageLimits()


@dataclass(frozen=True, slots=True)
class PackageFiles:
    """Files by their path relative to the root of the package, with `/` between the parts.

    Attributes:
        origin: Where they come from, for messages.
    """

    origin: str
    files: Mapping[str, bytes]

    def below(self, folder: str) -> "PackageFiles":
        """Return the files under a folder of an archive, such as the package of a dependency.

        Args:
            folder: Its path from the root, with nothing to be resolved in it; empty for the root.
        """
        if not folder:
            return self
        chosen = {
            path.removeprefix(folder + "/"): content
            for path, content in self.files.items()
            if path.startswith(folder + "/")
        }
        return replace(self, origin=f"{self.origin}/{folder}", files=chosen)

    def walk(self) -> Iterator[tuple[str, bytes]]:
        """Yield paths and contents in the order of a walk through folders sorted by name."""
        for path in sorted(self.files, key=lambda path: path.split("/")):
            yield path, self.files[path]


class FileCollector:
    """Collects the files of a package within the limits, and the problems found.

    Raises InvalidInput at once where going on would cost what the limits are to save.
    """

    def __init__(self, origin: str, limits: PackageLimits) -> None:
        self._origin = origin
        self._limits = limits
        self._entries = 0
        self._total = 0
        self._problems: list[Problem] = []
        self._files: dict[str, bytes] = {}

    def entry(self, path: str) -> None:
        """Count an entry of any kind and check its path.

        Raises:
            InvalidInput: there are more entries than allowed.
        """
        self._entries += 1
        if self._entries > self._limits.files:
            self._stop(f"the package has more than {self._limits.files} files")
        if len(path) > self._limits.path_length:
            message = f"the path is longer than {self._limits.path_length} characters"
            self._problems.append(Problem("PackageTooLarge", message, path[:100] + "…"))

    def fits(self, path: str, size: int) -> bool:
        """Tell whether a file of `size` bytes may be read; say what is wrong if not.

        Raises:
            InvalidInput: the package as a whole has become too large.
        """
        if size > self._limits.file_size:
            message = f"the file is larger than {self._limits.file_size} bytes"
            self._problems.append(Problem("PackageTooLarge", message, path))
            return False
        self._total += size
        if self._total > self._limits.total_size:
            self._stop(f"the package is larger than {self._limits.total_size} bytes")
        return True

    def refuse(self, path: str, message: str) -> None:
        """Note that an entry is not acceptable."""
        self._problems.append(Problem("PackageUnsafe", message, path))

    def keep(self, path: str, content: bytes) -> None:
        """Add a file, unless there is one of the same path: which one counts, nobody could see."""
        if path in self._files:
            self.refuse(path, "there are two files of this name; leave one of them out")
        self._files[path] = content

    def result(self) -> PackageFiles:
        """Return the collected files.

        Raises:
            InvalidInput: something was refused.
        """
        if self._problems:
            raise InvalidInput(self._problems)
        return PackageFiles(self._origin, self._files)

    def _stop(self, message: str) -> None:
        whole = Problem("PackageTooLarge", f"{self._origin}: {message}")
        raise InvalidInput([*self._problems, whole])


def unreadable(origin: str, why: str) -> InvalidInput:
    """Return the error of a package of which nothing can be read."""
    return InvalidInput([Problem("PackageUnreadable", f"{origin}: {why}")])


def read_folder(folder: Path, limits: PackageLimits) -> PackageFiles:
    """Return the files of a package that `folder` holds.

    Raises:
        InvalidInput: a file cannot be read, is a link or a device, or exceeds the limits.
    """
    collector = FileCollector(str(folder), limits)
    try:
        for path, entry in _entries(folder):
            collector.entry(path)
            if path.startswith(f"{SCRIPTS}/"):
                _read_script(path, entry, collector)
            elif entry.is_symlink():
                collector.refuse(
                    path, "links are not followed; put the file itself into the package"
                )
            elif entry.is_dir(follow_symlinks=False):
                continue
            elif not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                # Opening a named pipe would wait for a writer.
                collector.refuse(path, "a package may hold only regular files")
            elif _SUFFIX not in entry.name and not entry.name.endswith(_MISNAMED):
                continue
            elif collector.fits(path, entry.stat(follow_symlinks=False).st_size):
                collector.keep(path, _content(entry))
    except OSError as error:
        raise unreadable(str(error.filename or folder), error.strerror or str(error)) from error
    return collector.result()


def _read_script(path: str, entry: os.DirEntry[str], collector: FileCollector) -> None:
    """Read a file of the folder of scripts; nothing in there is refused unless a task names it.

    A package for KUDO 0.19 may have a folder of this name with anything in it. Of a file that is
    larger than a script can be, a byte more than that is enough to say so.
    """
    status = entry.stat(follow_symlinks=False)
    size = min(status.st_size, bounds.SCRIPT + 1)
    if stat.S_ISREG(status.st_mode) and collector.fits(path, size):
        collector.keep(path, _content(entry, size))


def _content(entry: os.DirEntry[str], size: int = -1) -> bytes:
    # O_NOFOLLOW closes the gap between looking at the entry and opening it.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(entry.path, flags), "rb") as file:
        return file.read(size)


def _entries(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the entries that are of the package, with paths relative to `folder`."""
    for top in _sorted_entries(folder):
        if top.name in _FILES:
            yield top.name, top
        elif _is_read(top):
            pending = [(top.name, top)]
            while pending:
                path, entry = pending.pop()
                yield path, entry
                if entry.is_dir(follow_symlinks=False):
                    inner = _sorted_entries(Path(entry.path))
                    pending.extend((f"{path}/{each.name}", each) for each in inner)


def _is_read(top: os.DirEntry[str]) -> bool:
    """Return whether an entry of the folder of a package is read with all that is below it."""
    if top.name == SCRIPTS:
        return top.is_dir(follow_symlinks=False)
    return top.name.startswith(TEMPLATES) and not top.is_file(follow_symlinks=False)


def _sorted_entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)
