"""Reads folders and files of a suite from the file system, within limits."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import goyaml
from kudo_harness.findings import Findings, Place
from kudo_harness.suite.limits import DEFAULT_LIMITS, SuiteLimits


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
            with os.scandir(folder) as found:
                visible = [entry for entry in found if not entry.name.startswith(".")]
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
