"""`python -m tools.needs TARGET`: whether this machine has all that a target of the Makefile needs.

Everything that is missing is named at once, before the first thing is built. Exit codes: 0 nothing
is missing, 1 something is.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Final

from kudo_cluster.errors import BuildError
from kudo_cluster.node import real as node_needs
from kudo_cluster.programs import binaries, golang
from tools.images.commands import PACKAGES as IMAGES

_PROMETHEUS: Final = {"prometheus": "prometheus", "promtool": "prometheus"}
_NODE: Final = node_needs.PACKAGES
_DATABASE: Final = {**_NODE, **IMAGES}
_TESTS: Final = {"bash": "bash"}
PACKAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "campaigns": {**_DATABASE, **_TESTS},
    "chart": {"promtool": "prometheus"},
    "compose": {
        **IMAGES,
        **{name: _NODE[name] for name in ("busybox", "ip", "iptables", "nsenter", "runc")},
        **_PROMETHEUS,
        "docker": "docker.io",
        "dockerd": "docker.io",
    },
    "e2e": _DATABASE,
    "e2e-galera": _DATABASE,
    "images": IMAGES,
    "integration": _TESTS,
    "test": _TESTS,
    "unit": _TESTS,
}
"""The Debian package of each program, by target."""
_AS_ROOT: Final = frozenset(PACKAGES) - {"chart", "integration", "test", "unit"}
_WITH_NODE: Final = frozenset({"campaigns", "e2e", "e2e-galera"})
_WITHOUT_CLUSTER: Final = frozenset({"images", "unit"})
_WITH_MODULES: Final = frozenset({"campaigns", "chart", "integration", "test"})
"""Targets whose tests read files of Go modules, such as the manifests of cert-manager."""


class Missing(Exception):
    """Something is missing; the text says what, and what to do."""


def check(
    target: str,
    *,
    compose: str = "docker-compose",
    user: int | None = None,
    find: Callable[[str], str | None] = shutil.which,
    plugins: Callable[[], object] = node_needs.cni_directory,
    check_go: Callable[[], object] = golang.check_go,
    built: Callable[[], bool] = binaries.complete,
) -> None:
    """Raise Missing, with everything that is missing and what to do.

    Args:
        target: Of the Makefile, one of `PACKAGES`.
        compose: The program that stands for docker-compose, if another one was asked for.
        user: The uid that would run it; by default that of this process.
        find: Returns the path of a program, None if there is none.
        plugins: Returns None if the CNI plugins of a node are missing.
        check_go: Raises BuildError if Go is missing or too old.
        built: Whether the programs of the control plane need no Go.
    """
    problems = []
    if target in _AS_ROOT and (os.geteuid() if user is None else user) != 0:
        problems.append(f"root, for containers and images: run `sudo make {target}`")
    needed = dict(PACKAGES[target])
    if compose != "docker-compose":
        needed.pop("docker-compose", None)
        if find(compose) is None:
            problems.append(f"the program {compose}, which COMPOSE names")
    packages = {package for name, package in needed.items() if find(name) is None}
    if target in _WITH_NODE and plugins() is None:
        packages.add(node_needs.CNI_PACKAGE)
    if packages:
        problems.append(
            "programs. On Debian and Ubuntu: "
            f"apt-get install --yes --no-install-recommends {' '.join(sorted(packages))}"
        )
    if target in _WITH_MODULES or (target not in _WITHOUT_CLUSTER and not built()):
        try:
            check_go()
        except BuildError as error:
            modules = " and files of Go modules" if target in _WITH_MODULES else ""
            problems.append(f"Go, for the control plane{modules}: {error}")
    if problems:
        raise Missing(
            f"`make {target}` lacks:\n" + "\n".join(f"  * {problem}" for problem in problems)
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.needs", description=__doc__)
    parser.add_argument("target", choices=sorted(PACKAGES))
    try:
        check(parser.parse_args().target)
    except Missing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
