"""Requirements of a real node: root, and Debian packages."""

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
"""The Debian package of each program that is not built from source."""
CNI_PACKAGE = "containernetworking-plugins"
CNI_PLUGINS = ("host-local", "loopback", "portmap", "ptp")
_CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def check(user: int | None = None) -> None:
    """Raise ClusterError unless this machine can run a real node; the message says what to do."""
    if (os.geteuid() if user is None else user) != 0:
        raise ClusterError(
            "a real node needs root for its containers, network and mounts. Run the command as "
            "root, or use the profile control-plane, which simulates its nodes"
        )
    if missing := missing_packages(program):
        raise ClusterError(
            f"a real node needs programs that are not installed. On Debian and Ubuntu: "
            f"apt-get install --yes --no-install-recommends {' '.join(missing)}"
        )


def program(name: str) -> Path | None:
    """Return the path of a program in the PATH of the cluster's processes."""
    path = shutil.which(name, path=PATH)
    return None if path is None else Path(path)


def cni_directory(directories: Iterable[Path] = _CNI_DIRECTORIES) -> Path | None:
    """Return the directory with all CNI plugins, None without one."""
    complete = (d for d in directories if all((d / name).is_file() for name in CNI_PLUGINS))
    return next(complete, None)


def missing_packages(
    find: Callable[[str], Path | None], directories: Iterable[Path] = _CNI_DIRECTORIES
) -> list[str]:
    """Return the Debian packages to install, sorted."""
    missing = {package for name, package in PACKAGES.items() if find(name) is None}
    if cni_directory(directories) is None:
        missing.add(CNI_PACKAGE)
    return sorted(missing)
