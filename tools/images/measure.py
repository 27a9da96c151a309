"""Measures the size of an image and the start of its program."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tools.images import confined
from tools.images.archive import Archive
from tools.images.errors import DeliveryError

_ROUNDS = 5
_MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one image.

    Attributes:
        name: name and tag.
        megabytes: of all its files, unpacked.
        first_start: seconds until `--help` is answered, right after unpacking.
        start: the fastest of five starts after it, in seconds.
    """

    name: str
    megabytes: float
    first_start: float
    start: float

    def __str__(self) -> str:
        """Return the line that is printed."""
        return (
            f"{self.name:<24} {self.megabytes:6.0f} MB   first start {self.first_start:.2f} s"
            f"   next starts {self.start:.2f} s"
        )


def measure(archive: Path) -> Figures:
    """Unpack an image and start its program; needs root.

    Raises:
        DeliveryError: the program did not start.
    """
    image = Archive(archive)
    with tempfile.TemporaryDirectory(prefix="kudo-image-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        image.unpack(root)
        starts = [_start(root, image) for _ in range(1 + _ROUNDS)]
    name = image.names()[0].rpartition("/")[2]
    return Figures(name, image.size() / _MEGABYTE, starts[0], min(starts[1:]))


def _start(root: Path, archive: Archive) -> float:
    image = archive.image()
    program = [*image["config"]["Entrypoint"], "--help"]
    begin = time.monotonic()
    done = confined.run(root, program, confined.environment(image))
    if done.returncode:
        raise DeliveryError(f"{' '.join(program)} failed in the image:\n{done.stderr}")
    return time.monotonic() - begin
