"""Finds the suite file of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubectl_kudo.core.errors import CliError, UsageError

NAMES: Final = ("kudo-test.yaml", "kuttl-test.yaml")
"""Names of suite files, the first one that exists counts."""


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """The suite file of a run.

    Attributes:
        path: Where it is; None if there is none.
        unused: Suite files in folders that are given, which are not read.
    """

    path: Path | None
    unused: tuple[Path, ...] = ()


def find_suite_file(config: str, folders: Sequence[str]) -> SuiteFile:
    """Return the suite file of a run.

    Args:
        config: `--config`; empty if it is not given.
        folders: The folders of cases that the command line names.

    Raises:
        CliError: the file of `--config` does not exist.
        UsageError: neither a file nor folders are given.
    """
    if config:
        path = Path(config).expanduser()
        if not path.is_file():
            raise CliError(f"cannot read the suite file {config}: no such file")
        return SuiteFile(path)
    inside = [found for folder in folders if (found := _in(Path(folder))) is not None]
    here = _in(Path())
    if here is not None:
        return SuiteFile(here, tuple(one for one in inside if not one.samefile(here)))
    if not folders:
        raise UsageError(
            f"{NAMES[0]} not found, provide either --config or arguments indicating the tests to "
            "load"
        )
    if len(folders) == 1:
        return SuiteFile(inside[0] if inside else None)
    return SuiteFile(None, tuple(inside))


def _in(folder: Path) -> Path | None:
    return next((path for name in NAMES if (path := folder / name).is_file()), None)
