"""Builds images with buildah, which needs no daemon.

Images and layers are kept in a store of our own, apart from other images of the machine.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.images.commands import DeliveryError, run


def cache_directory() -> Path:
    """Return the directory of the store and the base, which builds share."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "kudo" / "images"


class Buildah:
    """One store of images.

    Args:
        home: the directory of the store.
    """

    def __init__(self, home: Path) -> None:
        self._store = [f"--root={home / 'storage'}", f"--runroot={home / 'run'}"]
        # Containers of a build need no kernel feature beyond chroot; set the variable for others.
        self._environ = {"BUILDAH_ISOLATION": "chroot", **os.environ}

    def find(self, name: str) -> str | None:
        """Return the id of an image in the store, None if there is none of this name."""
        listed = self._run("images", "--quiet", "--no-trunc", "--filter", f"reference={name}")
        return next(iter(listed.split()), None)

    def import_root(self, directory: Path, name: str) -> str:
        """Create an image from a root directory, and return its id."""
        container = self._run("from", "scratch").strip()
        try:
            self._run("add", "--quiet", container, str(directory), "/")
            # Without a time the same files give the same image, and builds on it find their layers.
            return self._run("commit", "--quiet", "--timestamp=0", container, name).strip()
        finally:
            self._run("rm", container)

    def build(
        self,
        context: Path,
        *,
        target: str,
        tag: str,
        arguments: Mapping[str, str],
        labels: Mapping[str, str],
        secrets: Mapping[str, Path],
        volumes: Sequence[Path],
        timestamp: int,
        log: Path,
    ) -> None:
        """Build one target of the Dockerfile in a directory.

        Args:
            context: the directory.
            target: the stage to build.
            tag: name and tag of the image.
            arguments: build arguments.
            labels: more labels of the image, or those that depend on arguments: buildah takes these
                from its cache, whatever the arguments are now.
            secrets: files that the build may read, by id; no image holds them.
            volumes: directories that the build sees at the same place, read-only.
            timestamp: the time of the image and of all its files, in seconds since 1970.
            log: receives the output of buildah.

        Raises:
            DeliveryError: the build failed.
        """
        options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        options += [f"--secret=id={name},src={path}" for name, path in secrets.items()]
        options += [f"--volume={path}:{path}:ro" for path in volumes]
        fixed = ["--layers", "--network=host", f"--timestamp={timestamp}", f"--target={target}"]
        self._run("bud", *fixed, *options, f"--tag={tag}", str(context), log=log)
        if labels:
            self._label(tag, labels, timestamp)

    def save(self, name: str, archive: Path) -> None:
        """Write an image into an archive that `ctr images import` and `docker load` read."""
        identity = self.find(name)
        if identity is None:
            raise DeliveryError(f"there is no image {name}")
        unfinished = archive.with_suffix(".new")
        # Left by a build that was killed.
        unfinished.unlink(missing_ok=True)
        # By its id: pushed by name, the archive would hold the name in the store, too.
        self._run("push", "--quiet", identity, f"docker-archive:{unfinished}:{name}")
        # Another process may be reading the former one.
        unfinished.rename(archive)

    def _label(self, name: str, labels: Mapping[str, str], timestamp: int) -> None:
        container = self._run("from", "--pull-never", name).strip()
        try:
            options = [f"--label={label}={value}" for label, value in labels.items()]
            self._run("config", *options, container)
            self._run("commit", "--quiet", f"--timestamp={timestamp}", container, name)
        finally:
            self._run("rm", container)

    def _run(self, *arguments: str, log: Path | None = None) -> str:
        command = ["buildah", *self._store, *arguments]
        return run(command, environ=self._environ, log=log)
