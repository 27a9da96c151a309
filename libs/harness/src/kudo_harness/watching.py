"""Finds out which cases have changed files, for `--watch`."""

import asyncio
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from kudo.packages.files import OPERATOR_FILE
from kudo_harness.suite import Suite

MOST_FILES: Final = 20_000
"""Files that are looked at; of a case that has more, changes of the others are not seen."""
_EVERY: Final = 0.5
"""Seconds between two looks at the files."""
LEVELS: Final = 4
"""Folders above that of a case that may be the one of its package."""

State = Mapping[Path, tuple[int, int, int]]
"""Time of the last change, size and inode of each file."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The files that the cases of a suite depend on.

    Attributes:
        cases: The folder of each case.
        packages: The folder of the package that each case is in; None if it is in none.
        others: The suite file, and what it names.
        folders: The folders of cases, in which cases come and go.
    """

    cases: tuple[Path, ...]
    packages: Mapping[Path, Path | None]
    others: tuple[Path, ...]
    folders: tuple[Path, ...] = ()

    def state(self) -> State:
        """Return the state of all files, as far as they can be read."""
        # Also the rest of the folders of cases: a new case that is not valid is in no suite yet.
        roots = [*self.cases, *filter(None, self.packages.values()), *self.others, *self.folders]
        files = (path for root in dict.fromkeys(roots) for path in _files(root))
        states: dict[Path, tuple[int, int, int]] = {}
        for path in chain(self.folders, files):
            if len(states) == MOST_FILES:
                break
            if path not in states and (state := _state_of(path)) is not None:
                states[path] = state
        return states

    def changed(self, before: State, after: State) -> frozenset[Path]:
        """Return the folders of the cases that depend on a file that is not what it was."""
        paths = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        return frozenset(case for case in self.cases if any(self._uses(case, p) for p in paths))

    def _uses(self, case: Path, path: Path) -> bool:
        if path.is_relative_to(case):
            return True
        if any(path.is_relative_to(other) for other in self.cases):
            # A file of another case is in the folder of the same package.
            return False
        package = self.packages[case]
        own = package is not None and path.is_relative_to(package)
        return own or any(path.is_relative_to(other) for other in self.others)


NO_FILES: Final = Watched((), {}, ())


def watched(suite: Suite, suite_file: Path | None) -> Watched:
    """Return the files that the cases of a suite depend on."""
    cases = tuple(case.folder.resolve() for case in suite.cases)
    named = [suite.options.crd_dir, *suite.options.manifest_dirs]
    others = [Path(text.value) for text in named if text is not None]
    if suite_file is not None:
        others.append(suite_file)
    return Watched(
        cases,
        {case: _package_of(case) for case in cases},
        tuple(path.resolve() for path in others if path.exists()),
        tuple(Path(folder.path).resolve() for folder in suite.test_dirs),
    )


async def changes(files: Watched, before: State) -> State:
    """Wait until files are not what they were, and for a moment without a further change.

    Args:
        files: The files.
        before: Their state before the run that is over.

    Returns:
        Their new state, which is older than anything that is read of them from now on.
    """
    last = before
    while True:
        await asyncio.sleep(_EVERY)
        now = await asyncio.to_thread(files.state)
        # Editors write a file in several steps, and version control many files.
        if now == last and now != before:
            return now
        last = now


def only(suite: Suite, folders: Collection[Path]) -> Suite:
    """Return the suite with only the cases in these folders."""
    kept = (
        replace(
            folder, cases=tuple(case for case in folder.cases if case.folder.resolve() in folders)
        )
        for folder in suite.test_dirs
    )
    return replace(suite, test_dirs=tuple(folder for folder in kept if folder.cases))


def _package_of(case: Path) -> Path | None:
    above: Iterable[Path] = list(case.parents)[:LEVELS]
    return next((folder for folder in above if (folder / OPERATOR_FILE).is_file()), None)


def _files(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    # Links to folders are not followed: they may lead round in a circle.
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
