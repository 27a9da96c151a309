r"""The patterns of `.kudoignore`: which files of a folder `package create` leaves out.

The syntax is that of `.gitignore`: one pattern a line; `#` begins a comment; `!` includes again
what an earlier line excluded; a pattern with `/` at its beginning or within is relative to the
package, any other matches a name at any depth; `/` at the end matches folders only; `*`, `?` and
`[a-z]` match within a name, `**` any number of folders; `\` takes the next character literally.
The last pattern that matches decides, and nothing below an excluded folder can be included again.
Unlike in Git, only the file at the root of the package is read.
"""

import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from goyaml import NotTextError, decode
from kudo.api.problems import InvalidInput, Problem

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
        line = _without_trailing_blanks(raw.removesuffix("\r"))
        if not line or line.startswith("#"):
            continue
        includes = line.startswith("!")
        glob = line.removeprefix("!")
        folders_only = glob.endswith("/")
        parts = [part for part in glob.split("/") if part]
        if not parts:
            continue
        if "/" not in glob.rstrip("/"):
            parts.insert(0, _ANY_FOLDERS)
        yield Pattern(tuple(parts), includes, folders_only)


def _without_trailing_blanks(line: str) -> str:
    kept = line.rstrip(" \t")
    # An odd number of backslashes takes the first of the blanks literally.
    escaped = (len(kept) - len(kept.rstrip("\\"))) % 2 == 1
    return line[: len(kept) + 1] if escaped else kept


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
    found = set(reachable)
    for used in range(len(globs) - 1):
        if used in found and globs[used] == _ANY_FOLDERS:
            found.add(used + 1)
    return found


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
