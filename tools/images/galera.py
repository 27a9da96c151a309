"""Builds the image of the example `galera`: a database of Debian on the stand-in base.

It has no file of KUDO, so it depends on no commit, and the layers of a former build serve again.
"""

from pathlib import Path

from tools.images import base
from tools.images.buildah import Buildah
from tools.images.version import ROOT

TARGET = "galera"
NAME = "kudo-galera:10.11"
"""Name and tag: the default of the parameter IMAGE."""
_CONTEXT = ROOT / "examples" / "galera" / "image"


def build(buildah: Buildah, directory: Path, given_base: str | None) -> None:
    """Build the image and write it to `kudo-galera.tar` in a directory, with a log beside it.

    Args:
        buildah: the store of images.
        directory: exists.
        given_base: an image of Debian 12 to build on; None for the stand-in.

    Raises:
        DeliveryError: a step failed, for example because packages cannot be fetched.
    """
    buildah.build(
        _CONTEXT,
        target=TARGET,
        tag=NAME,
        arguments={"BASE": given_base or base.obtain(buildah)},
        labels={},
        secrets={},
        volumes=(),
        timestamp=0,
        log=directory / "kudo-galera.log",
    )
    buildah.save(NAME, directory / "kudo-galera.tar")
