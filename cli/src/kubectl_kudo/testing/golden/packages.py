"""Finds the packages whose golden manifests are compared."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kubectl_kudo.session.errors import CliError, ExitCode
from kudo.packages.files import OPERATOR_FILE

GOLDEN: Final = "golden"
"""The folder of golden manifests in a package."""
LEVELS: Final = 8
FOLDERS: Final = 2_000
"""How deep, and in how many folders, packages are looked for."""
_ABOVE: Final = 3
"""Folders above one that is given that may be the one of its package."""
_OF_PACKAGES: Final = frozenset({GOLDEN, "templates", "tests"})


def find_packages(given: Sequence[str]) -> list[Path]:
    """Return the folders of the packages that folders are, are in, or have below them.

    Raises:
        CliError: a folder does not exist, or no package is found for it.
    """
    found: dict[Path, None] = {}
    for text in given:
        packages = _packages_of(Path(text))
        if not packages:
            raise CliError(
                f"no package in {text}: no folder in it has a file {OPERATOR_FILE}",
                code=ExitCode.NOT_FOUND,
            )
        found.update(dict.fromkeys(packages))
    return list(found)


def _packages_of(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise CliError(f"{folder} is not a folder", code=ExitCode.NOT_FOUND)
    if _is_package(folder):
        return [folder]
    above = [folder.absolute(), *folder.absolute().parents][1 : _ABOVE + 1]
    own = next((one for one in above if _is_package(one)), None)
    return [own] if own else list(_below(folder))


def _below(top: Path) -> Iterator[Path]:
    pending, seen = [(top, 0)], 0
    while pending:
        folder, level = pending.pop()
        seen += 1
        if seen > FOLDERS:
            raise CliError(f"{top} has more than {FOLDERS} folders; name those of the packages")
        if _is_package(folder):
            yield folder
        if level < LEVELS:
            inner = sorted(_folders(folder), reverse=True)
            pending += [(folder / name, level + 1) for name in inner]


def _folders(folder: Path) -> Iterator[str]:
    """Yield the names of folders that may hold packages; links would lead round in a circle."""
    with os.scandir(folder) as entries:
        for entry in entries:
            hidden = entry.name.startswith(".") or entry.name in _OF_PACKAGES
            if not hidden and entry.is_dir(follow_symlinks=False):
                yield entry.name


def _is_package(folder: Path) -> bool:
    return (folder / OPERATOR_FILE).is_file()
