"""The files that are collected: a folder, or an archive if the name ends with .tgz or .tar.gz.

Everything is written to a hidden folder beside the target, which gets its name at the end: nobody
sees half of it.
"""

import gzip
import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.output import JsonObject, one

_ARCHIVES: Final = (".tgz", ".tar.gz")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_NAME: Final = 200


def file_name(text: str) -> str:
    """Return a text as the name of a file: what comes from a cluster could be a path."""
    name = _UNSAFE.sub("_", text)[:_LONGEST_NAME]
    return name if name.strip(".") else f"_{name}"


class Bundle:
    """Collected files.

    Args:
        folder: Where they are written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write_object(self, path: str, obj: JsonObject) -> None:
        """Write an object as YAML; it must be redacted."""
        self.write_text(path, one(obj, "yaml"))

    def write_text(self, path: str, text: str) -> None:
        """Write a text; it must be redacted."""
        self.place(path).write_text(text, encoding="utf-8")

    def append(self, path: str, text: str) -> None:
        """Write a text behind what a file has."""
        with self.place(path).open("a", encoding="utf-8") as file:
            file.write(text)

    def place(self, path: str) -> Path:
        """Return where a file is written; its folders are made."""
        place = self._folder / path
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place


@contextmanager
def new_bundle(target: Path) -> Iterator[Bundle]:
    """Yield a bundle that is stored under the name of the target after the block.

    Raises:
        CliError: the target exists, or cannot be written.
    """
    is_archive = target.name.endswith(_ARCHIVES)
    if target.exists() or target.is_symlink():
        what = f'target file "{target}"' if is_archive else f"target directory {target}"
        raise CliError(f"{what} already exists; name another one with -O")
    work = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        work.mkdir(mode=0o700, parents=True)
        try:
            yield Bundle(work)
            if is_archive:
                _pack(work, target)
            else:
                work.rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise CliError(f"cannot write {target}: {error.strerror or error}") from error


def _pack(folder: Path, target: Path) -> None:
    suffix = next(ending for ending in _ARCHIVES if target.name.endswith(ending))
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # `x`: a link that somebody put there is not followed.
        with tarfile.open(beside, "x:gz") as archive:
            archive.add(folder, arcname=target.name.removesuffix(suffix), filter=_plain)
        # Only the user may read it: redaction finds most secrets, and may miss some.
        beside.chmod(0o600)
        beside.rename(target)
    finally:
        beside.unlink(missing_ok=True)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    # Who ran the command is nobody's business.
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o700 if member.isdir() else 0o600
    return member


class LogFile:
    """Writes the end of a text to a compressed file, whatever the length of the text.

    The text goes to two files in turn, each with half of the limit: what is older than both is
    dropped. Both are gzip members, so that joined they are one gzip file.

    Args:
        path: Where the file is written by `close`.
        limit: Bytes of text that are kept at most; at least half of it is.

    Attributes:
        written: Bytes of text so far.
    """

    def __init__(self, path: Path, *, limit: int) -> None:
        self.written = 0
        self._path = path
        self._half = max(1, limit // 2)
        self._older = path.with_name(f".{path.name}.older")
        self._newer = path.with_name(f".{path.name}.newer")
        self._file = gzip.open(self._newer, "wb")  # noqa: SIM115 - `close` closes it
        self._size = self._dropped = self._in_older = 0

    def write(self, line: bytes) -> None:
        """Write a line, with its end."""
        if self._size and self._size + len(line) > self._half:
            self._file.close()
            self._dropped += self._in_older
            self._in_older, self._size = self._size, 0
            self._newer.replace(self._older)
            self._file = gzip.open(self._newer, "wb")  # noqa: SIM115
        self._file.write(line)
        self._size += len(line)
        self.written += len(line)

    def close(self) -> None:
        """Join both files; without any text there is no file."""
        self._file.close()
        if self.written:
            with self._path.open("wb") as joined:
                if self._dropped:
                    note = f"[{self._dropped} bytes before this are left out]\n"
                    joined.write(gzip.compress(note.encode()))
                for part in (self._older, self._newer):
                    if part.exists():
                        with part.open("rb") as source:
                            shutil.copyfileobj(source, joined)
        for part in (self._older, self._newer):
            part.unlink(missing_ok=True)
