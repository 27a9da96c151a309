"""The PID, mount and network namespaces of a real node.

When their first process ends, for whatever reason, the kernel kills all processes in them and
removes containers, mounts, network devices, routes and firewall rules with the namespaces. Only
control groups stay; see node/cgroups.py.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Process, Supervision

_SCRIPT = Path(__file__).with_name("sandbox.sh")
_READY = "sandbox"
_READY_SECONDS = 30.0
_POLL = 0.02
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The namespaces of one running node.

    Attributes:
        process: their first process, with its pid outside of them.
        snapshotter: of containerd: overlayfs, or native where overlayfs does not work.
    """

    process: Process
    snapshotter: str

    @classmethod
    def start(cls, layout: Layout, supervision: Supervision, programs: Path) -> Self:
        """Create namespaces; needs root.

        Args:
            layout: the cluster's directory, which is mounted in the namespaces, too.
            supervision: starts the first process.
            programs: another directory that is mounted in the namespaces.

        Raises:
            ClusterError: the namespaces cannot be created; the message has the output.
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
                raise ClusterError(f"cannot create the namespaces of a real node: {said}")
            time.sleep(_POLL)
        return cls.read(layout)

    @classmethod
    def read(cls, layout: Layout) -> Self:
        """Return the namespaces of a directory; raises ClusterError if they have ended."""
        pid, snapshotter = (layout.node / _READY).read_text(encoding="utf-8").split()
        try:
            return cls(Process.of(int(pid)), snapshotter)
        except ProcessLookupError:
            raise ClusterError(f"the real node in {layout.root} has died") from None

    @property
    def nsenter(self) -> tuple[str, ...]:
        """Command prefix that runs a command in the namespaces."""
        return ("nsenter", f"--target={self.process.pid}", "--mount", "--net", "--pid")
