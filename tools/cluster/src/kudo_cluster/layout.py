"""The directory of a cluster: its files, its lock, and their removal.

The user may have chosen an existing directory. So files are deleted only if a marker file shows
that the directory is a cluster's, and then only files that clusters create.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kudo_cluster.errors import ClusterError

_MARKER = ".kudo-cluster"
_DIRECTORIES = ("etcd", "kubeconfigs", "kudo", "logs", "node", "pki", ".kwok", ".kube")
_FILES = ("cluster.json", ".cluster.json.new", "stages.yaml")


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths in a cluster's directory."""

    root: Path

    @property
    def pki(self) -> Path:
        """Keys and certificates."""
        return self.root / "pki"

    @property
    def logs(self) -> Path:
        """One log for each component."""
        return self.root / "logs"

    @property
    def etcd(self) -> Path:
        """The database."""
        return self.root / "etcd"

    @property
    def node(self) -> Path:
        """Settings, images, containers and volumes of a real node."""
        return self.root / "node"

    @property
    def stages(self) -> Path:
        """The stages of kwok."""
        return self.root / "stages.yaml"

    def log(self, component: str) -> Path:
        """Return the log of one component."""
        return self.logs / f"{component}.log"

    def claim(self) -> None:
        """Mark the directory as a cluster's and delete the files of an earlier cluster.

        Raises:
            ClusterError: the directory contains files that a cluster would overwrite.
        """
        if (self.root / _MARKER).exists():
            self._empty()
        if taken := [name for name in (*_DIRECTORIES, *_FILES) if (self.root / name).exists()]:
            raise ClusterError(
                f"{self.root} contains other files ({', '.join(taken)}): choose another directory"
            )
        (self.root / _MARKER).touch()

    def remove(self) -> None:
        """Delete the files of a cluster, and the directory if it is empty then."""
        if (self.root / _MARKER).exists():
            self._empty()
            (self.root / _MARKER).unlink()
        with contextlib.suppress(OSError):
            self.root.rmdir()

    def _empty(self) -> None:
        for name in _DIRECTORIES:
            shutil.rmtree(self.root / name, ignore_errors=True)
        for name in _FILES:
            (self.root / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Create the directory if it is missing, and lock it against other starts and stops."""
        while True:
            if self.root.is_file():
                raise ClusterError(f"{self.root} is not a directory")
            with self._opened() as handle:
                if handle is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX)
                    if self._is(handle):
                        yield
                        return

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        """Open the directory; None if another process deleted it just before."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        except (FileExistsError, FileNotFoundError):
            yield None
            return
        try:
            yield handle
        finally:
            os.close(handle)

    def _is(self, handle: int) -> bool:
        # The previous holder of the lock may have deleted the directory, and the lock with it.
        try:
            return os.path.samestat(self.root.stat(), os.fstat(handle))
        except FileNotFoundError:
            return False
