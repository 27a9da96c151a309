"""Finds the folders of cases below a directory, such as those of all packages below `examples/`.

A directory whose folders hold steps has cases, as in kuttl. One that has none, or is a package, is
looked through for folders named `tests` that do. The name is required: a folder of files such as
`10-x.yaml` need not be a case, and to apply them would do harm.
"""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from kudo.packages.files import OPERATOR_FILE
from kudo_harness.findings import Place
from kudo_harness.suite.files import FileReader
from kudo_harness.suite.names import step_file, step_folder

TESTS: Final = "tests"
"""Name of the folders that are looked for."""
LEVELS: Final = 8
"""How deep they are looked for below the directory."""
FOLDERS: Final = 2_000
"""Folders that are looked at."""


def is_step(entry: os.DirEntry[str]) -> bool:
    """Return whether a file or folder is named as a step of a case."""
    name = step_folder(entry.name) if entry.is_dir() else step_file(entry.name)
    return name is not None and name.index is not None


def case_directories(directory: Path, place: Place, files: FileReader) -> list[Path]:
    """Return the folders whose folders are cases: the directory, or those named `tests` below it.

    Args:
        directory: As the user names it.
        place: Where it is named.
        files: Its limits count for each folder; its findings take what is too large.

    Returns:
        The directory itself if none is found, so that what is wrong with it can be told; of a
        package, none.
    """
    most = files.limits.entries
    if _has(directory, is_step, most):
        return [directory]
    # Templates of a package may have names such as 01-service.yaml.
    package = _has(directory, lambda entry: entry.name == OPERATOR_FILE, most)
    if not package and _has_cases(directory, most):
        return [directory]
    found = list(_below(directory, place, files))
    return found if found or package else [directory]


def _below(directory: Path, place: Place, files: FileReader) -> Iterator[Path]:
    seen = 0
    pending = [(directory, 0)]
    while pending:
        folder, level = pending.pop()
        seen += 1
        if seen > FOLDERS:
            message = (
                f"{directory} has more than {FOLDERS} folders to look through for cases; name the "
                f"folders of cases, such as {directory / TESTS}"
            )
            files.findings.error("SuiteTooLarge", message, place)
            return
        if folder.name == TESTS and _has_cases(folder, files.limits.entries):
            yield folder
        elif level < LEVELS:
            inner = sorted(_folders(folder, files.limits.entries), reverse=True)
            pending += [(folder / name, level + 1) for name in inner]


def _has_cases(folder: Path, most: int) -> bool:
    return _has(folder, lambda entry: entry.is_dir() and _has(entry.path, is_step, most), most)


def _has(folder: Path | str, wanted: Callable[[os.DirEntry[str]], bool], most: int) -> bool:
    return any(wanted(entry) for entry in _visible(folder, most))


def _folders(folder: Path, most: int) -> Iterator[str]:
    """Yield the names of the folders in a folder; links would lead out of it, or round in it."""
    for entry in _visible(folder, most):
        if entry.is_dir(follow_symlinks=False):
            yield entry.name


def _visible(folder: Path | str, most: int) -> Iterator[os.DirEntry[str]]:
    # Folders that cannot be read hold no cases that could run; those that are read later are told.
    try:
        with os.scandir(folder) as found:
            yield from (one for one in islice(found, most) if not one.name.startswith("."))
    except OSError:
        return
