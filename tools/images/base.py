"""A stand-in for python:3.13-slim, for machines that reach no image registry.

It is a minimal Debian with Debian's own Python 3.11, built once and kept in the store of images.
Images on it are built from the same Dockerfile as all others, and serve tests.
"""

import tempfile
from pathlib import Path

from tools.images.buildah import Buildah
from tools.images.commands import run

NAME = "kudo-stand-in-base:bookworm"
_SUITE = "bookworm"
_PACKAGES = "python3,python3-venv,ca-certificates"
# Files that debootstrap copies or creates for this machine, and those that it downloads.
_LEFTOVERS = ("etc/hostname", "etc/resolv.conf", "etc/machine-id")
_FETCHED = ("dev", "var/cache/apt", "var/lib/apt/lists", "var/log")


def obtain(buildah: Buildah) -> str:
    """Return the id of the base; builds it first if needed (a minute, and a download of 100 MB).

    Raises:
        DeliveryError: debootstrap failed, for example because it reaches no Debian mirror.
    """
    return buildah.find(NAME) or _build(buildah)


def _build(buildah: Buildah) -> str:
    with tempfile.TemporaryDirectory(prefix="kudo-base-") as directory:
        root = Path(directory, "root")
        run(["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, root])
        for name in _LEFTOVERS:
            (root / name).unlink(missing_ok=True)
        for name in _FETCHED:
            _remove_files(root / name)
        return buildah.import_root(root, NAME)


def _remove_files(directory: Path) -> None:
    for path in directory.rglob("*"):
        if not path.is_dir():
            path.unlink()
