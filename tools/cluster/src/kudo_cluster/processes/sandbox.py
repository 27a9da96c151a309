"""The namespaces that a real node lives in: of processes, mounts and network.

Their first process holds everything together. When it ends, however that comes about, the kernel
kills every process in them, and containers, mounts, network devices, routes and firewall rules go
with the namespaces. Only directories of control groups stay; see node/cgroups.py.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Process
from kudo_cluster.processes.supervision import Supervision

_SCRIPT = Path(__file__).with_name("sandbox.sh")
_READY = "sandbox"
_READY_SECONDS = 30.0
_POLL = 0.02
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The namespaces of one running node.

    Attributes:
        process: their first process, by the pid that the machine knows it by.
        snapshotter: how containerd keeps images there: overlayfs, or native where it must copy.
    """

    process: Process
    snapshotter: str

    @classmethod
    def start(cls, layout: Layout, supervision: Supervision, programs: Path) -> Self:
        """Make new namespaces; needs root.

        Args:
            layout: the cluster's directory, which is seen inside as well.
            supervision: the parent of the first process.
            programs: a directory that is seen inside as well.

        Raises:
            ClusterError: the kernel refuses; the text holds what was said.
        """
        layout.node.mkdir()
        log = layout.log("sandbox")
        ready = layout.node / _READY
        unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        command = ["sh", str(_SCRIPT), str(layout.root), str(programs), str(ready)]
        outside = supervision.start([*unshare, *command], log, {"PATH": PATH})
        deadline = time.monotonic() + _READY_SECONDS
        while not ready.exists():
            if not outside.alive or time.monotonic() > deadline:
                said = log.read_text(encoding="utf-8", errors="replace").strip()
                raise ClusterError(f"the namespaces of a real node cannot be made: {said}")
            time.sleep(_POLL)
        return cls.read(layout)

    @classmethod
    def read(cls, layout: Layout) -> Self:
        """Return what `start` made in this directory; raises ClusterError if it has ended."""
        pid, snapshotter = (layout.node / _READY).read_text(encoding="utf-8").split()
        try:
            return cls(Process.of(int(pid)), snapshotter)
        except ProcessLookupError:
            raise ClusterError(f"the real node in {layout.root} has died") from None

    @property
    def entrance(self) -> tuple[str, ...]:
        """What stands before a command so that it runs inside."""
        return ("nsenter", f"--target={self.process.pid}", "--mount", "--net", "--pid")
