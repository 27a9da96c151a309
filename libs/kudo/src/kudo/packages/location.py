"""The location of a package, from which its dependencies are resolved.

Dependencies of a folder are found in the file system, those of an archive only inside it.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from kudo.api.problems import InvalidInput, Problem
from kudo.packages.archive import read_archive
from kudo.packages.files import DEFAULT_LIMITS, PackageFiles, PackageLimits, unreadable
from kudo.packages.model import Package
from kudo.packages.reader import ARCHIVE_SUFFIX, open_package, parse_package

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Location(Protocol):
    """Where a package was read from, and how its dependencies are found there."""

    def place(self, path: str) -> str:
        """Return a text that is equal for all paths to the same package.

        Raises:
            InvalidInput: the path leads out of an archive.
        """

    def locate(self, path: str) -> "Located":
        """Return the package in a folder or a `.tgz` archive, by its path from here.

        Raises:
            InvalidInput: there is none, or it cannot be read.
        """


@dataclass(frozen=True, slots=True)
class Located:
    """A package and its location."""

    package: Package
    location: Location


def locate(path: str | Path, *, limits: PackageLimits = DEFAULT_LIMITS) -> Located:
    """Return the package in a folder or a `.tgz` archive of the file system.

    Raises:
        InvalidInput: as of `read_package`.
    """
    place = Path(path).absolute()
    files = open_package(place, limits=limits)
    if place.is_dir():
        return Located(parse_package(files), FolderLocation(place, limits))
    return _in_archive(files, limits)


def locate_in_archive(data: bytes, origin: str) -> Located:
    """Return the package in the bytes of a `.tgz` archive.

    Args:
        data: The archive.
        origin: Where it comes from, for messages.

    Raises:
        InvalidInput: as of `read_package`.
    """
    return _in_archive(read_archive(data, origin, DEFAULT_LIMITS), DEFAULT_LIMITS)


def _in_archive(files: PackageFiles, limits: PackageLimits) -> Located:
    return Located(parse_package(files), ArchiveLocation(files, (), limits))


def is_path(name: str) -> bool:
    """Return whether a task's `package` names a place, and not an operator."""
    return "/" in name or name in {".", ".."} or name.endswith(ARCHIVE_SUFFIX)


def is_url(name: str) -> bool:
    return bool(_URL.match(name))


@dataclass(frozen=True, slots=True)
class FolderLocation:
    """The location of a package folder: paths are resolved in the file system."""

    folder: Path
    limits: PackageLimits = DEFAULT_LIMITS

    def place(self, path: str) -> str:
        # Without links: two paths to one folder are one package.
        return os.path.realpath(self.folder / path)

    def locate(self, path: str) -> Located:
        return locate(self.folder / path, limits=self.limits)


@dataclass(frozen=True, slots=True)
class ArchiveLocation:
    """The location of a package in an archive: paths are resolved inside that archive.

    Attributes:
        files: All of the archive.
        folder: Where in it the package lies, part by part; empty for its root.
    """

    files: PackageFiles
    folder: tuple[str, ...]
    limits: PackageLimits = DEFAULT_LIMITS

    def place(self, path: str) -> str:
        return "/".join((self.files.origin, *self._resolved(path)))

    def locate(self, path: str) -> Located:
        parts = self._resolved(path)
        inside = "/".join(parts)
        if inside.endswith(ARCHIVE_SUFFIX) and inside in self.files.files:
            # An archive in the archive: its own paths cannot leave it.
            origin = f"{self.files.origin}/{inside}"
            files = read_archive(self.files.files[inside], origin, self.limits)
            return Located(parse_package(files), ArchiveLocation(files, (), self.limits))
        package = self.files.below(inside)
        if not package.files:
            text = f"neither a folder nor a {ARCHIVE_SUFFIX} file in the archive"
            raise unreadable(f"{self.files.origin}/{inside}", text)
        return Located(parse_package(package), ArchiveLocation(self.files, parts, self.limits))

    def holds(self, path: str) -> bool:
        """Return whether a path from here leads to a place in the archive, whatever is there."""
        try:
            self._resolved(path)
        except InvalidInput:
            return False
        return True

    def _resolved(self, path: str) -> tuple[str, ...]:
        """Return a path from the root of the archive; one with a leading / begins there."""
        parts = [] if path.startswith("/") else [*self.folder]
        for part in PurePosixPath(path.lstrip("/")).parts:
            if part != "..":
                parts.append(part)
            elif parts:
                parts.pop()
            else:
                text = (
                    f"{self.files.origin}: {path} is outside the archive; move that package below "
                    "this one, or name its operator"
                )
                raise InvalidInput([Problem("PackageUnsafe", text)])
        return tuple(parts)


@dataclass(frozen=True, slots=True)
class PackedLocation:
    """The location of a package in an archive that is made of a folder.

    What is outside of the archive is found beside the folder, as KUDO 0.19 packed such packages.

    Attributes:
        archive: The location in the archive.
        root: The folder that the archive is made of.
    """

    archive: ArchiveLocation
    root: Path

    def place(self, path: str) -> str:
        return self._of(path).place(path)

    def locate(self, path: str) -> Located:
        located = self._of(path).locate(path)
        inner = located.location
        if isinstance(inner, ArchiveLocation) and inner.files is self.archive.files:
            # What this package names may be beside the folder again.
            return Located(located.package, PackedLocation(inner, self.root))
        return located

    def _of(self, path: str) -> Location:
        if self.archive.holds(path):
            return self.archive
        return FolderLocation(self.root.joinpath(*self.archive.folder), self.archive.limits)


def packed(located: Located, folder: Path) -> Located:
    """Return a package of an archive that is made of a folder; see `PackedLocation`."""
    assert isinstance(located.location, ArchiveLocation)
    return Located(located.package, PackedLocation(located.location, folder))
