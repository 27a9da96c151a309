"""Checks that the machine has what building images needs, and names what to install."""

import os
import shutil
from collections.abc import Callable

from tools.images.errors import DeliveryError

PACKAGES = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "docker-compose": "docker-compose",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
"""The Debian package of each program."""


def check(*, user: int | None = None, find: Callable[[str], str | None] = shutil.which) -> None:
    """Raise DeliveryError, with what to do, unless images can be built here.

    Args:
        user: the uid that would build; by default that of this process.
        find: returns the path of a program, None if there is none.
    """
    if missing := sorted({package for name, package in PACKAGES.items() if find(name) is None}):
        raise DeliveryError(
            "building images needs programs that are not installed. On Debian and Ubuntu: "
            f"apt-get install --yes --no-install-recommends {' '.join(missing)}"
        )
    if (os.geteuid() if user is None else user) != 0:
        raise DeliveryError(
            "building images here needs root: run `sudo make images`. Where Docker is at hand, "
            "nothing of this is needed: `docker build --target webhook .`"
        )
