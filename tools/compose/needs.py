"""Checks, before anything is built, that the machine has what `make compose` needs."""

import os
import shutil
from collections.abc import Callable

from kudo_cluster.errors import BuildError
from kudo_cluster.node import needs as node_needs
from kudo_cluster.programs import binaries, golang
from tools.compose.errors import ComposeError
from tools.images import needs as images_needs

PACKAGES = {
    **images_needs.PACKAGES,
    **{
        name: node_needs.PACKAGES[name] for name in ("busybox", "ip", "iptables", "nsenter", "runc")
    },
    "docker": "docker.io",
    "dockerd": "docker.io",
    "prometheus": "prometheus",
    "promtool": "prometheus",
}
"""The Debian package of each program."""


def check(
    compose: str,
    *,
    user: int | None = None,
    find: Callable[[str], str | None] = shutil.which,
    check_go: Callable[[], object] = golang.check_go,
    built: Callable[[], bool] = binaries.complete,
) -> None:
    """Raise ComposeError, with everything that is missing and what to do.

    Args:
        compose: the program that stands for docker-compose, if another one was asked for.
        user: the uid that would run it; by default that of this process.
        find: returns the path of a program, None if there is none.
        check_go: raises BuildError if Go is missing or too old.
        built: whether the programs of the control plane need no Go.
    """
    problems = []
    if (os.geteuid() if user is None else user) != 0:
        problems.append("root, for containers and images: run `sudo make compose`")
    needed = {name: package for name, package in PACKAGES.items() if name != "docker-compose"}
    if compose == "docker-compose":
        needed[compose] = PACKAGES[compose]
    elif find(compose) is None:
        problems.append(f"the program {compose}, which COMPOSE names")
    if packages := sorted({package for name, package in needed.items() if find(name) is None}):
        problems.append(
            "programs. On Debian and Ubuntu: "
            f"apt-get install --yes --no-install-recommends {' '.join(packages)}"
        )
    if not built():
        try:
            check_go()
        except BuildError as error:
            problems.append(f"Go, for the control plane: {error}")
    if problems:
        raise ComposeError("`make compose` lacks:\n" + "\n".join(f"  * {p}" for p in problems))
