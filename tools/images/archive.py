"""An archive of an image: what is in it, how its program runs, how large and fast it is.

A program runs in the root directory of the image as a restricted pod does, without a cluster: the
root is read-only, the user is 65532, there is no capability and no way to gain one. What a pod has
besides, such as limits and a network of its own, is left to tests on a node.
"""

import contextlib
import json
import os
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.images.commands import DeliveryError

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
                # We have built it, and any other filter would change modes and owners.
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


USER = 65532
_STOP_SECONDS = 30
_PREPARE = """
root=$1 user=$2
shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
exec unshare --root="$root" --setgid="$user" --setuid="$user" -- "$@"
"""


def command(root: Path, program: Sequence[str]) -> list[str]:
    """Return what to run, as root, so that a program runs confined.

    Args:
        root: the unpacked image.
        program: its path inside, and its arguments.
    """
    # As a restricted pod has it, also for what runs before the user is changed.
    outer = ["setpriv", "--clear-groups", "--no-new-privs", "--inh-caps=-all"]
    spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return [*outer, *spaces, "sh", "-euc", _PREPARE, "confined", str(root), str(USER), *program]


def run(
    root: Path, program: Sequence[str], environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end.

    Args:
        root: the unpacked image.
        program: its path inside, and its arguments.
        environ: the environment of the image, and nothing else.
    """
    return subprocess.run(
        command(root, program), env=dict(environ), capture_output=True, text=True, timeout=120
    )


@contextlib.contextmanager
def running(
    root: Path, program: Sequence[str], environ: Mapping[str, str], log: Path
) -> Iterator[int]:
    """Start a service and yield its pid; at the end SIGTERM is sent, and must stop it.

    Args:
        root: the unpacked image.
        program: its path inside, and its arguments.
        environ: the environment of the image, and nothing else.
        log: receives its output.
    """
    with log.open("wb") as stream:
        outer = subprocess.Popen(
            command(root, program), env=dict(environ), stdout=stream, stderr=stream
        )
    service = _child(outer)
    try:
        yield service
    finally:
        # What came first ignores signals and waits for its child, which is the service.
        with contextlib.suppress(ProcessLookupError):
            os.kill(service, signal.SIGTERM)
        try:
            outer.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # Then raised: a service that ignores SIGTERM delays each update of a Deployment.
            os.kill(service, signal.SIGKILL)
            outer.wait()
            raise


def _child(process: subprocess.Popen[bytes]) -> int:
    """Return the pid of the one child of a process, as soon as there is one."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        if children := listed.read_text(encoding="ascii").split():
            return int(children[0])
        time.sleep(0.01)
    raise ProcessLookupError(f"{process.args!r} ended with exit code {process.returncode}")


def environment(image: Mapping[str, object]) -> dict[str, str]:
    """Return the environment that the configuration of an image sets."""
    config = image["config"]
    assert isinstance(config, dict)
    return dict(entry.split("=", 1) for entry in config["Env"])


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
        # The folder is the root of another user, who could not enter it otherwise.
        root.chmod(0o755)
        image.unpack(root)
        # The first start reads files that the kernel does not have in memory, as on a new node.
        starts = [_start(root, image) for _ in range(1 + _ROUNDS)]
    name = image.names()[0].rpartition("/")[2]
    return Figures(name, image.size() / _MEGABYTE, starts[0], min(starts[1:]))


def _start(root: Path, archive: Archive) -> float:
    image = archive.image()
    program = [*image["config"]["Entrypoint"], "--help"]
    begin = time.monotonic()
    done = run(root, program, environment(image))
    if done.returncode:
        raise DeliveryError(f"{' '.join(program)} failed in the image:\n{done.stderr}")
    return time.monotonic() - begin
