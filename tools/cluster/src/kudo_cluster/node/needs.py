"""What a real node needs from the machine, and what to do where it is missing."""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from kudo_cluster.errors import ClusterError
from kudo_cluster.processes.sandbox import PATH

PACKAGES = {
    "busybox": "busybox-static",
    "conntrack": "conntrack",
    "containerd": "containerd",
    "ctr": "containerd",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "runc": "runc",
    "unshare": "util-linux",
}
"""The Debian package of each program that is not built here."""
CNI_PACKAGE = "containernetworking-plugins"
CNI_PLUGINS = ("host-local", "loopback", "portmap", "ptp")
_CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def check(user: int | None = None) -> None:
    """Raise ClusterError, saying what to do, unless this machine can run a real node."""
    if (os.geteuid() if user is None else user) != 0:
        raise ClusterError(
            "a real node needs root: its containers, network and mounts belong to the kernel. Run "
            "the command as root, or use the profile control-plane, which simulates its nodes"
        )
    if missing := missing_packages(program):
        raise ClusterError(
            f"a real node needs programs that are not installed. On Debian and Ubuntu: "
            f"apt-get install --yes --no-install-recommends {' '.join(missing)}"
        )


def program(name: str) -> Path | None:
    """Find a program as the processes of a cluster would."""
    found = shutil.which(name, path=PATH)
    return None if found is None else Path(found)


def cni_directory(directories: Iterable[Path] = _CNI_DIRECTORIES) -> Path | None:
    """Find the directory with the network plugins; None if no directory has all of them."""
    complete = (d for d in directories if all((d / name).is_file() for name in CNI_PLUGINS))
    return next(complete, None)


def missing_packages(
    find: Callable[[str], Path | None], directories: Iterable[Path] = _CNI_DIRECTORIES
) -> list[str]:
    """Name the Debian packages that would bring what is missing, in order."""
    missing = {package for name, package in PACKAGES.items() if find(name) is None}
    if cni_directory(directories) is None:
        missing.add(CNI_PACKAGE)
    return sorted(missing)
