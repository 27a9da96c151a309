"""Reads files of a suite within limits: those of steps, what steps name, and folders of cases.

A directory whose folders hold steps has cases, as in kuttl. One that has none, or is a package, is
searched for folders named `tests` that do. The name is required: a folder of files such as
`10-x.yaml` need not be a case, and to apply them would do harm.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import goyaml
from kudo.api.problems import shown
from kudo.packages.files import OPERATOR_FILE
from kudo_harness.findings import Findings, Place
from kudo_harness.suite.documents import DEFAULT_LIMITS, Document, SuiteLimits, read_documents
from kudo_harness.suite.model import Text
from kudo_harness.suite.step_files import Role, is_template, step_file, step_folder
from kudo_harness.suite.words import expand

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_DEEPEST: Final = 8
"""Levels of folders below one of `crdDir` or `manifestDirs`."""


@dataclass(slots=True)
class FileReader:
    """Reads files, and counts their bytes.

    Links are followed: the files of a suite belong to the user who runs it. What cannot be read is
    noted and left out.

    Attributes:
        findings: Where errors are noted.
        limits: How much may be read.
        read_size: Bytes that were read.
    """

    findings: Findings
    limits: SuiteLimits = DEFAULT_LIMITS
    read_size: int = 0
    _full: bool = field(default=False, init=False)

    def entries(self, folder: Path, place: Place) -> list[os.DirEntry[str]]:
        """Return the entries of a folder, by name; hidden ones are left out.

        Args:
            folder: The folder.
            place: Where the folder is named.
        """
        try:
            with os.scandir(folder) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            self._unreadable(str(folder), error, place)
            return []
        if len(visible) > self.limits.entries:
            message = f"{folder} has more than {self.limits.entries} entries"
            self.findings.error("SuiteTooLarge", message, place)
            return []
        return sorted(visible, key=lambda entry: entry.name)

    def text(self, path: Path, place: Place) -> str | None:
        """Return the text of a file; None if it cannot be read.

        Args:
            path: The file.
            place: Where the file is named.
        """
        try:
            content = self._content(path, place)
            return None if content is None else goyaml.decode(content)
        except OSError as error:
            self._unreadable(str(path), error, place)
        except goyaml.NotTextError as error:
            self.findings.error("InvalidYaml", error.reason, Place(str(path), error.line))
        return None

    def documents(self, path: Path, place: Place) -> list[Document]:
        """Return the documents of a YAML file; none if it cannot be read, which is noted."""
        content = self.text(path, place)
        if content is None:
            return []
        return read_documents(str(path), content, self.findings, self.limits) or []

    def manifests(self, path: Path, place: Place, depth: int = 0) -> Iterator[Document]:
        """Yield the documents of a file, or of a folder with those below it."""
        if not path.is_dir():
            yield from self.documents(path, place)
            return
        for entry in self.entries(path, place):
            if entry.is_dir():
                # A link may lead back to a folder above it.
                if depth < _DEEPEST:
                    yield from self.manifests(path / entry.name, place, depth + 1)
            elif entry.name.endswith(_SUFFIXES):
                yield from self.documents(path / entry.name, place)

    def _content(self, path: Path, place: Place) -> bytes | None:
        # Opening a pipe would otherwise wait for whoever writes into it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                self.findings.error("NotAFile", f"{path} is no regular file", place)
                return None
            content = file.read(self.limits.file_size + 1)
        if len(content) > self.limits.file_size:
            message = f"{path} is larger than {self.limits.file_size} bytes"
            self.findings.error("SuiteTooLarge", message, place)
            return None
        return content if self._fits(len(content), place) else None

    def _fits(self, size: int, place: Place) -> bool:
        if self._full:
            # Told once: every file that follows would be told as well.
            return False
        self.read_size += size
        if self.read_size > self.limits.total_size:
            self._full = True
            message = f"the suite is larger than {self.limits.total_size} bytes; run a part of it"
            self.findings.error("SuiteTooLarge", message, place)
        return not self._full

    def _unreadable(self, path: str, error: OSError, place: Place) -> None:
        why = error.strerror or str(error)
        self.findings.error("Unreadable", f"{path} cannot be read: {why}", place)


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
    directories = list(_below(directory, place, files))
    return directories if directories or package else [directory]


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


def _has(folder: Path | str, matches: Callable[[os.DirEntry[str]], bool], most: int) -> bool:
    return any(matches(entry) for entry in _visible(folder, most))


def _folders(folder: Path, most: int) -> Iterator[str]:
    """Yield the names of the folders in a folder; links would lead out of it, or round in it."""
    for entry in _visible(folder, most):
        if entry.is_dir(follow_symlinks=False):
            yield entry.name


def _visible(folder: Path | str, most: int) -> Iterator[os.DirEntry[str]]:
    # Folders that cannot be read hold no cases that could run; those that are read later are told.
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in islice(entries, most) if not entry.name.startswith("."))
    except OSError:
        return


_URL: Final = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Download:
    """A URL whose objects are read when the case runs.

    Attributes:
        url: The URL, variables replaced.
        role: What is done with the objects.
    """

    url: Text
    role: Role


def is_url(text: str) -> bool:
    return bool(_URL.match(text))


@dataclass(slots=True)
class References:
    """Resolves what the steps of a case name.

    Attributes:
        folder: Folder of the case, from which paths lead.
        environment: Variables in paths.
        files: Reads files.
        used: Names in the folder of the case that are used.
    """

    folder: Path
    environment: Mapping[str, str]
    files: FileReader
    used: set[str] = field(default_factory=set)

    def urls(self, texts: Iterable[Text]) -> Iterator[Text]:
        """Yield the URLs of a list."""
        for text in texts:
            expanded = expand(text.value, self.environment)
            if is_url(expanded):
                yield Text(expanded, text.place)

    def documents(self, text: Text) -> Iterator[Document]:
        """Yield the documents of a file, or of the `.yaml` files of a folder; none of a URL."""
        expanded = expand(text.value, self.environment)
        if is_url(expanded) or not expanded:
            return
        path = Path(expanded)
        if not path.is_absolute() and path.parts:
            # A name in the folder of the case that no step has is no mistake then.
            self.used.add(path.parts[0])
        yield from self._in(self.folder / path, text)

    def _in(self, path: Path, text: Text) -> Iterator[Document]:
        if not path.exists():
            message = f"no such file or folder: {shown(str(path), 200)}"
            self.files.findings.error("NoFile", message, text.place)
        elif path.is_dir():
            for entry in self.files.entries(path, text.place):
                if entry.name.endswith(".yaml") and not entry.is_dir():
                    yield from self._file(path / entry.name, text)
        else:
            yield from self._file(path, text)

    def _file(self, path: Path, text: Text) -> Iterator[Document]:
        if is_template(path.name):
            message = (
                f"{path.name} is a template, and templates work only as files of a step: give it "
                "the number of the step"
            )
            self.files.findings.error("NoTemplate", message, text.place)
            return
        yield from self.files.documents(path, text.place)
