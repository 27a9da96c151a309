r"""Creates the archive of a package: the same bytes for the same files, on any machine.

Members are named relative to the package and sorted; times, owners and modes are fixed. The bytes
also depend on the version of zlib, so a digest can be compared only between equal versions of it.

`.kudoignore` says which files are left out. The syntax is that of `.gitignore`: one pattern a line;
`#` begins a comment; `!` includes again what an earlier line excluded; a pattern with `/` at its
beginning or within is relative to the package, any other matches a name at any depth; `/` at the
end matches folders only; `*`, `?` and `[a-z]` match within a name, `**` any number of folders; `\`
takes the next character literally. The last pattern that matches decides, and nothing below an
excluded folder can be included again. Unlike in Git, only the file at the root of the package is
read.
"""

import fnmatch
import gzip
import io
import os
import re
import stat
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from goyaml import NotTextError, decode
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.files import (
    DEFAULT_LIMITS,
    OPERATOR_FILE,
    FileCollector,
    PackageFiles,
    unreadable,
)
from kudo.packages.model import OperatorFile
from kudo.packages.reader import ARCHIVE_SUFFIX

_NEVER: Final = frozenset({".git", ".hg", ".svn"})
"""Folders of version control, which are larger than any package and may contain secrets."""
_MODE: Final = 0o644
_LEVEL: Final = 9
IGNORE_FILE: Final = ".kudoignore"
MOST_BYTES: Final = 64 * 1024
"""Of the file; its patterns are tried on each path."""
_ANY_FOLDERS: Final = "**"
_SPECIAL: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line.

    Attributes:
        parts: Globs for the parts of a path from the root of the package.
        includes: Whether it includes again, instead of excluding.
        folders_only: Whether it matches only folders.
    """

    parts: tuple[str, ...]
    includes: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns of one file, in its order."""

    patterns: tuple[Pattern, ...] = ()

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Return whether a path is excluded. Callers do not ask for paths in excluded folders."""
        parts = tuple(path.split("/"))
        for pattern in reversed(self.patterns):
            if (folder or not pattern.folders_only) and _matches(pattern.parts, parts):
                return not pattern.includes
        return False


def parse_ignore_file(content: bytes) -> IgnoreRules:
    """Return the patterns of a `.kudoignore`.

    Raises:
        InvalidInput: the file is not text, or too large.
    """
    if len(content) > MOST_BYTES:
        raise _invalid(f"the file is larger than {MOST_BYTES} bytes")
    try:
        text = decode(content)
    except NotTextError as error:
        raise _invalid(error.reason) from error
    return IgnoreRules(tuple(_patterns(text)))


def _invalid(message: str) -> InvalidInput:
    return InvalidInput([Problem("PackageInvalid", message, IGNORE_FILE)])


def _patterns(text: str) -> Iterator[Pattern]:
    for raw in text.split("\n"):
        line = raw.removesuffix("\r")
        kept = line.rstrip(" \t")
        # An odd number of backslashes takes the first of the blanks literally.
        escaped = (len(kept) - len(kept.rstrip("\\"))) % 2 == 1
        line = line[: len(kept) + 1] if escaped else kept
        if not line or line.startswith("#"):
            continue
        includes = line.startswith("!")
        glob = line.removeprefix("!")
        folders_only = glob.endswith("/")
        parts = [part for part in glob.split("/") if part]
        if not parts:
            continue
        if "/" not in glob.rstrip("/"):
            # Only a slash at the beginning or within ties a pattern to the root.
            parts.insert(0, _ANY_FOLDERS)
        yield Pattern(tuple(parts), includes, folders_only)


def _matches(globs: Sequence[str], parts: Sequence[str]) -> bool:
    """Match part by part.

    `reachable` are the numbers of globs that can have been used up so far; the cost is the product
    of both lengths, whatever the pattern is.
    """
    reachable = _skipped(globs, {0})
    for part in parts:
        following = set()
        for used in reachable:
            if used == len(globs):
                continue
            if globs[used] == _ANY_FOLDERS:
                following.add(used)
                if used == len(globs) - 1:
                    # `a/**` matches what is below a, but not a itself.
                    following.add(len(globs))
            elif _expression(globs[used]).match(part):
                following.add(used + 1)
        reachable = _skipped(globs, following)
    return len(globs) in reachable


def _skipped(globs: Sequence[str], reachable: set[int]) -> set[int]:
    """Add what is reached by letting `**` match no folder; at the end it matches at least one."""
    positions = set(reachable)
    for used in range(len(globs) - 1):
        if used in positions and globs[used] == _ANY_FOLDERS:
            positions.add(used + 1)
    return positions


@lru_cache(maxsize=4096)
def _expression(glob: str) -> re.Pattern[str]:
    # fnmatch writes expressions that do not backtrack over many stars.
    return re.compile(fnmatch.translate("".join(_unescaped(glob))))


def _unescaped(glob: str) -> Iterator[str]:
    r"""Yield a glob with `\x` and `[^x]` as fnmatch writes them."""
    characters = iter(glob)
    for character in characters:
        if character == "\\":
            literal = next(characters, "\\")
            yield f"[{literal}]" if literal in _SPECIAL else literal
        elif character == "[":
            yield "["
            following = next(characters, "")
            yield "!" if following == "^" else following
        else:
            yield character


# Archives


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


def collect(folder: Path, *, target: Path | None = None) -> Collected:
    """Return all regular files of a folder that its `.kudoignore` does not exclude.

    Args:
        folder: The folder of the package. Folders of version control in it are left out.
        target: The archive to be, which is left out: it may be in the folder.

    Raises:
        InvalidInput: a file cannot be read, or there is more than a package may hold.
    """
    collector, left_out = FileCollector(str(folder), DEFAULT_LIMITS), []
    try:
        rules = _rules(folder)
        for path, entry in _entries(folder, rules):
            # The archive may be written into its own folder, also through a link.
            named_so = target is not None and entry.name == target.name
            if named_so and os.path.realpath(entry.path) == os.path.realpath(target or ""):
                continue
            # A link could bring a file from outside of the package into the archive.
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
        with os.scandir(place) as listing:
            entries = list(listing)
        for entry in entries:
            path, is_folder = f"{prefix}{entry.name}", entry.is_dir(follow_symlinks=False)
            # An excluded folder is not entered: nothing below it can be included again.
            if rules.ignores(path, folder=is_folder) or (is_folder and entry.name in _NEVER):
                continue
            if is_folder:
                pending.append((f"{path}/", Path(entry.path)))
            else:
                yield path, entry
