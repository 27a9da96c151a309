"""A cluster's directory: what lies where, who may work in it, and how it is emptied.

The directory may be one that the user named, so nothing in it is touched unless a mark says that a
cluster was here before; and then only what clusters put there.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kudo_cluster.errors import ClusterError

_MARK = ".kudo-cluster"
_DIRECTORIES = ("etcd", "kubeconfigs", "logs", "node", "pki", ".kwok", ".kube")
_FILES = ("cluster.json", ".cluster.json.new", "stages.yaml")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a cluster keeps what, below its directory."""

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
        """What a real node keeps: its settings, images, containers and volumes."""
        return self.root / "node"

    @property
    def stages(self) -> Path:
        """The stages that kwok plays."""
        return self.root / "stages.yaml"

    def log(self, component: str) -> Path:
        """Return the log of one component."""
        return self.logs / f"{component}.log"

    def claim(self) -> None:
        """Make the directory a cluster's, without anything of an earlier one.

        Raises:
            ClusterError: if it holds something that a cluster would overwrite.
        """
        if (self.root / _MARK).exists():
            self._empty()
        if taken := [name for name in (*_DIRECTORIES, *_FILES) if (self.root / name).exists()]:
            raise ClusterError(
                f"{self.root} holds {', '.join(taken)} of something else: choose another directory"
            )
        (self.root / _MARK).touch()

    def remove(self) -> None:
        """Remove what a cluster left, and the directory too if nothing else is in it."""
        if (self.root / _MARK).exists():
            self._empty()
            (self.root / _MARK).unlink()
        with contextlib.suppress(OSError):
            self.root.rmdir()

    def _empty(self) -> None:
        for name in _DIRECTORIES:
            shutil.rmtree(self.root / name, ignore_errors=True)
        for name in _FILES:
            (self.root / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Create the directory if need be, and let nobody else start or stop a cluster in it."""
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
        """Open the directory; None if somebody removed it between making and opening it."""
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
        # Whoever held the lock before may have removed the directory, and the lock with it.
        try:
            return os.path.samestat(self.root.stat(), os.fstat(handle))
        except FileNotFoundError:
            return False
