"""Reads an archive of an image: its configuration, its files, and its root directory."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.images.errors import DeliveryError

_REMOVED = ".wh."


@dataclass(frozen=True, slots=True)
class Archive:
    """An image in Docker's archive format."""

    path: Path

    def names(self) -> list[str]:
        """Return the names of the image."""
        return list(self._manifest()["RepoTags"])

    def image(self) -> dict[str, Any]:
        """Return the configuration of the image, as the OCI image specification has it."""
        return dict(self._json(self._manifest()["Config"]))

    def size(self) -> int:
        """Return the bytes of all files of the image."""
        return sum(member.size for member in self.members())

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield every file and directory of every layer, lowest layer first."""
        for layer in self._layers():
            yield from layer

    def contents(self, suffix: str) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the files whose name ends in `suffix`."""
        for layer in self._layers():
            for member in layer:
                stream = layer.extractfile(member) if member.name.endswith(suffix) else None
                if stream is not None:
                    yield member.name, stream.read()

    def unpack(self, directory: Path) -> None:
        """Write the root directory; owners and modes need root.

        Raises:
            DeliveryError: a layer removes files of a lower one, as no layer of ours does.
        """
        for layer in self._layers():
            for member in layer:
                if Path(member.name).name.startswith(_REMOVED):
                    raise DeliveryError(f"{self.path}: a layer removes {member.name}")
                layer.extract(member, directory, filter="fully_trusted")

    def _layers(self) -> Iterator[tarfile.TarFile]:
        with tarfile.open(self.path) as archive:
            for name in self._manifest()["Layers"]:
                with tarfile.open(fileobj=archive.extractfile(name)) as layer:
                    yield layer

    def _manifest(self) -> dict[str, Any]:
        (image,) = self._json("manifest.json")
        return dict(image)

    def _json(self, name: str) -> Any:
        with tarfile.open(self.path) as archive:
            stream = archive.extractfile(name)
            assert stream is not None
            return json.load(stream)
