"""The folder of KUDO's own files: `--home`, else $KUDO_HOME, else `~/.kudo`.

repository/repositories.yaml      the repositories, as KUDO 0.19 has it
cache/index/<SHA-256 of the URL>  the ETag of an index in the first line, then the index
cache/packages/<SHA-256>.tgz      a package under its digest

A file gets its name when it is whole. A cache that cannot be read or written is as good as none:
nothing fails because of it.
"""

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.files import write_file
from kudo.api.problems import InvalidInput
from kudo.packages.repositories.settings import (
    DEFAULT_SETTINGS,
    Settings,
    read_settings,
    write_settings,
)

_MAX_SETTINGS = 1024 * 1024
_LONGEST_LINE = 2048
"""Bytes of the first line of a cached index, and more."""


def home_folder(args: Args) -> Path:
    """Return the folder; it need not exist."""
    text = args.home or os.environ.get("KUDO_HOME")
    return Path(os.path.expandvars(text)).expanduser() if text else Path.home() / ".kudo"


def settings_file(home: Path) -> Path:
    return home / "repository" / "repositories.yaml"


def load_settings(home: Path) -> Settings:
    """Return the repositories of the user; only the one that is built in where there is no file.

    Raises:
        CliError: the file cannot be read.
    """
    path = settings_file(home)
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_SETTINGS)
        return read_settings(content)
    except FileNotFoundError:
        return DEFAULT_SETTINGS
    except (OSError, InvalidInput) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CliError(
            f"could not load repositories file ({path}).\n"
            f"{why}; correct the file, or delete it to begin with the default"
        ) from error


def save_settings(home: Path, settings: Settings) -> None:
    """Write the repositories of the user.

    Raises:
        CliError: the file cannot be written.
    """
    path = settings_file(home)
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_file(path, write_settings(settings).encode())
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class CachedIndex:
    """An index as it was downloaded.

    Attributes:
        etag: Its ETag; empty if it had none.
        time: When it was downloaded or last seen unchanged, in RFC 3339.
    """

    content: bytes
    etag: str
    time: str


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache in a folder, which need not exist."""

    folder: Path

    def index(self, url: str, limit: int) -> CachedIndex | None:
        """Return the index that was downloaded from a URL; None if there is none."""
        path = self._index_file(url)
        content = _read(path, limit + _LONGEST_LINE)
        line, newline, rest = (content or b"").partition(b"\n")
        try:
            time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            etag = line.decode("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        if not newline or not etag.isprintable():
            return None
        return CachedIndex(rest, etag, time.isoformat(timespec="seconds"))

    def keep_index(self, url: str, content: bytes, etag: str) -> None:
        """Store an index."""
        # URLs can contain credentials, so the name of the file is a hash.
        _write(self._index_file(url), etag.encode("ascii") + b"\n" + content)

    def package(self, digest: str, limit: int) -> bytes | None:
        """Return the package with a digest; None if there is none that still has it."""
        # An index need not have digests: then nothing tells whether a copy is the package.
        if not digest:
            return None
        content = _read(self._package_file(digest), limit)
        return content if content is not None and sha256(content) == digest else None

    def keep_package(self, digest: str, content: bytes) -> None:
        """Store a package whose digest was checked."""
        _write(self._package_file(digest), content)

    def _index_file(self, url: str) -> Path:
        return self.folder / "index" / sha256(url.encode())

    def _package_file(self, digest: str) -> Path:
        return self.folder / "packages" / f"{digest}.tgz"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: Path, limit: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError:
        return None
    return content if len(content) <= limit else None


def _write(path: Path, content: bytes) -> None:
    with suppress(OSError):
        # For the user alone: packages of a repository with credentials are among them.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, content, mode=0o600)
