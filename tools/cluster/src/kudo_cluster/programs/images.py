"""Container images without a registry, as archives that containerd imports.

The archives have Docker's format: for it containerd completes short names as it does for pods, so a
pod with the image `busybox` finds an image that was imported as `busybox`.
"""

import hashlib
import io
import json
import struct
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kudo_cluster.errors import ClusterError
from kudo_cluster.programs.golang import target

BUSYBOX = "busybox:latest"
SANDBOX = "sandbox:latest"
"""The image of the pause container of a pod."""
_ACCOUNTS = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
_GROUPS = b"root:x:0:\nnogroup:x:65534:\n"
_LOADER = 3
_CONFIG = {"Cmd": ["sleep", "infinity"], "Env": ["PATH=/bin"]}


def write_busybox(program: Path, archive: Path, names: Sequence[str] = (BUSYBOX, SANDBOX)) -> None:
    """Write an archive with an image that contains only a static busybox.

    The image has the applets as links in /bin, the users root and nobody, and a writable /tmp.

    Args:
        program: path of busybox on this machine.
        archive: the file to write.
        names: names of the image, without a host.

    Raises:
        ClusterError: the program is not statically linked, so it cannot run in the image.
    """
    content = program.read_bytes()
    if _needs_loader(content):
        raise ClusterError(f"{program} is not static: install the package busybox-static")
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    applets = [name for name in listed.stdout.split() if name != "busybox"]
    write(archive, _root(content, applets), _CONFIG, names)


def write(archive: Path, layer: bytes, config: Mapping[str, object], names: Sequence[str]) -> None:
    """Write an archive with an image of one layer.

    Args:
        archive: the file to write.
        layer: a tar file with the image's root directory.
        config: Docker's config of the image, such as Cmd and Env.
        names: names of the image, such as `busybox:latest`.
    """
    operating_system, architecture = target()
    image = {
        "architecture": architecture,
        "os": operating_system,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": list(names), "Layers": ["layer.tar"]}]
    with tarfile.open(archive, "w") as tar:
        _file(tar, "layer.tar", layer)
        _file(tar, "config.json", json.dumps(image).encode())
        _file(tar, "manifest.json", json.dumps(manifest).encode())


def load(archive: Path, *, nsenter: Sequence[str], snapshotter: str) -> None:
    """Import an archive into the containerd of a node.

    Args:
        archive: an image archive of Docker, buildah or `write`, or an OCI image layout.
        nsenter: command prefix that enters the node's namespaces.
        snapshotter: of the node's containerd.

    Raises:
        ClusterError: the import failed; the message says why.
    """
    command = [*nsenter, "ctr", "--namespace=k8s.io", "images", "import"]
    with archive.open("rb") as stream:
        # On stdin, since the path may not exist in the mount namespace of the node.
        done = subprocess.run(
            [*command, f"--snapshotter={snapshotter}", "-"],
            stdin=stream,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise ClusterError(f"cannot import the image {archive}: {done.stderr.strip()}")


def _needs_loader(program: bytes) -> bool:
    """Return whether a 64-bit ELF file is dynamically linked, that is, has a PT_INTERP segment."""
    (table,) = struct.unpack_from("<Q", program, 0x20)
    size, count = struct.unpack_from("<HH", program, 0x36)
    kinds = (struct.unpack_from("<I", program, table + n * size)[0] for n in range(count))
    return _LOADER in kinds


def _root(busybox: bytes, applets: Sequence[str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("root", 0o700), ("tmp", 0o1777)):
            _special(tar, name, tarfile.DIRTYPE, mode)
        _file(tar, "bin/busybox", busybox, 0o755)
        for applet in applets:
            _special(tar, f"bin/{applet}", tarfile.SYMTYPE, 0o777, "busybox")
        _file(tar, "etc/passwd", _ACCOUNTS)
        _file(tar, "etc/group", _GROUPS)
    return stream.getvalue()


def _file(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = mode
    tar.addfile(entry, io.BytesIO(content))


def _special(tar: tarfile.TarFile, name: str, kind: bytes, mode: int, link: str = "") -> None:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = mode
    entry.linkname = link
    tar.addfile(entry)
