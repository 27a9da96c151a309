"""Image archives: what is in them, and what is refused. The e2e tests run them."""

import hashlib
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kudo_cluster.errors import ClusterError
from kudo_cluster.programs import golang, images


def _elf(kind: int) -> bytes:
    """Return a header of an ELF file with one program header of a kind."""
    header = bytearray(64)
    struct.pack_into("<Q", header, 0x20, 64)
    struct.pack_into("<HH", header, 0x36, 56, 1)
    return bytes(header) + struct.pack("<I", kind) + bytes(52)


def _json(tar: tarfile.TarFile, name: str) -> Any:
    return json.loads(_bytes(tar, name))


def _bytes(tar: tarfile.TarFile, name: str) -> bytes:
    stream = tar.extractfile(name)
    assert stream is not None
    return stream.read()


def test_an_archive_names_its_image_and_holds_its_layer(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    images.write(archive, b"a layer", {"Cmd": ["true"]}, ["first:1", "second:2"])
    with tarfile.open(archive) as tar:
        (manifest,) = _json(tar, "manifest.json")
        image = _json(tar, manifest["Config"])
        (layer,) = manifest["Layers"]
        assert _bytes(tar, layer) == b"a layer"
    assert manifest["RepoTags"] == ["first:1", "second:2"]
    assert image["config"] == {"Cmd": ["true"]}
    assert (image["os"], image["architecture"]) == golang.target()
    assert image["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(b'a layer').hexdigest()}"]


def test_the_same_content_makes_the_same_archive(tmp_path: Path) -> None:
    for name in ("one", "two"):
        layer = images._root(b"busybox", ["ls", "sh"])
        images.write(tmp_path / name, layer, {}, ["busybox"])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_root_directory_has_every_applet_and_a_place_for_all(tmp_path: Path) -> None:
    (tmp_path / "layer.tar").write_bytes(images._root(b"busybox", ["ls", "sh"]))
    with tarfile.open(tmp_path / "layer.tar") as tar:
        links = {entry.name: entry.linkname for entry in tar if entry.issym()}
        assert links == {"bin/ls": "busybox", "bin/sh": "busybox"}
        assert tar.getmember("bin/busybox").mode == 0o755
        assert tar.getmember("tmp").mode == 0o1777
        assert b"nobody:x:65534:" in _bytes(tar, "etc/passwd")


@pytest.mark.parametrize(("kind", "needed"), [(1, False), (3, True)])
def test_a_program_is_static_if_it_names_no_loader(kind: int, needed: bool) -> None:
    assert images._needs_loader(_elf(kind)) is needed


def test_a_program_that_is_not_static_makes_no_image(tmp_path: Path) -> None:
    (tmp_path / "busybox").write_bytes(_elf(3))
    with pytest.raises(ClusterError, match="install the package busybox-static"):
        images.write_busybox(tmp_path / "busybox", tmp_path / "image.tar")
    assert not (tmp_path / "image.tar").exists()


def test_an_archive_that_is_refused_is_an_error_with_the_reason(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    archive.write_bytes(b"an image")
    # Shell commands stand for the way in and for containerd.
    refusing = ("sh", "-c", "cat > /dev/null; echo no such format >&2; exit 1")
    with pytest.raises(ClusterError, match=r"cannot import the image .*image\.tar: no such format"):
        images.load(archive, nsenter=refusing, snapshotter="native")


def test_an_archive_reaches_containerd_through_the_pipe(tmp_path: Path) -> None:
    archive, received = tmp_path / "image.tar", tmp_path / "received"
    archive.write_bytes(b"an image")
    taking = ("sh", "-c", f'cat > {received}; echo "$@" >> {received}', "in")
    images.load(archive, nsenter=taking, snapshotter="native")
    said = "ctr --namespace=k8s.io images import --snapshotter=native -\n"
    assert received.read_text() == f"an image{said}"
