"""The golden files of packages: where they are, reading and writing them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from goyaml import NotTextError, decode
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.files import write_file
from kudo.packages.files import OPERATOR_FILE
from kudo.parameters.sources import parse_parameter_file

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
    folders: dict[Path, None] = {}
    for text in given:
        packages = _packages_of(Path(text))
        if not packages:
            raise CliError(
                f"no package in {text}: no folder in it has a file {OPERATOR_FILE}",
                code=ExitCode.NOT_FOUND,
            )
        folders.update(dict.fromkeys(packages))
    return list(folders)


def _packages_of(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise CliError(f"{folder} is not a folder", code=ExitCode.NOT_FOUND)
    if _is_package(folder):
        return [folder]
    above = [folder.absolute(), *folder.absolute().parents][1 : _ABOVE + 1]
    own = next((parent for parent in above if _is_package(parent)), None)
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


PARAMETERS: Final = "params.yaml"
DEFAULT: Final = "default"
"""The set that is written for a package that has none."""
MOST_FILES: Final = 2_000
MOST_BYTES: Final = 4 * 1024 * 1024
"""Files of a set, and bytes of each that are read."""


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The golden files for one choice of parameters.

    Attributes:
        folder: Their folder.
    """

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def parameters(self) -> dict[str, str]:
        """Return the values of its `params.yaml`; none if there is no such file.

        Raises:
            CliError: the file cannot be read.
            InvalidInput: it is no file of parameters.
        """
        path = self.folder / PARAMETERS
        if not path.exists():
            return {}
        return parse_parameter_file(str(path), _text(path), spelling=True, single=True)

    def texts(self) -> dict[str, str]:
        """Return the text of each file by its path in the folder.

        Raises:
            CliError: a file cannot be read, or there are too many.
        """
        texts: dict[str, str] = {}
        for path in _yaml_files(self.folder):
            name = path.relative_to(self.folder).as_posix()
            if name == PARAMETERS:
                continue
            if len(texts) >= MOST_FILES:
                raise CliError(f"{self.folder} has more than {MOST_FILES} files")
            texts[name] = _text(path)
        return texts

    def write(self, texts: Mapping[str, str]) -> Iterator[str]:
        """Make these the files of the set; yield what is done with each that changes.

        Raises:
            CliError: a file cannot be written, or would be outside of the package.
        """
        before = self.texts()
        for name in sorted({*before, *texts}):
            path = self.folder / name
            if before.get(name) == texts.get(name):
                continue
            self._check_inside(path)
            try:
                if name in texts:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_file(path, texts[name].encode())
                    yield f"written: {path}"
                else:
                    path.unlink()
                    yield f"deleted: {path}"
            except OSError as error:
                raise CliError(f"cannot write {path}: {error.strerror or error}") from error

    def _check_inside(self, path: Path) -> None:
        # A package of somebody else may have links that lead out of it.
        package = self.folder.parent.parent.resolve()
        if not path.parent.resolve().is_relative_to(package):
            raise CliError(f"{path} is not written, because a link leads out of the package")


def golden_sets(package: Path) -> list[GoldenSet]:
    """Return the sets of golden files of a package, by name."""
    folder = package / GOLDEN
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir() and entry.name[0] != ".")
    return [GoldenSet(folder / name) for name in names]


def default_set(package: Path) -> GoldenSet:
    return GoldenSet(package / GOLDEN / DEFAULT)


def _yaml_files(folder: Path) -> Iterator[Path]:
    for inner, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(inner, name) for name in sorted(files) if name.endswith(".yaml"))


def _text(path: Path) -> str:
    try:
        # Reading a pipe would wait for whoever writes into it.
        if not path.is_file():
            raise CliError(f"cannot read {path}: it is no regular file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise CliError(f"cannot read {path}: it is larger than {MOST_BYTES} bytes")
        return decode(content)
    except NotTextError as error:
        raise CliError(f"cannot read {path}: {error}") from None
    except OSError as error:
        raise CliError(f"cannot read {path}: {error.strerror or error}") from error
