"""What a real node leaves behind even when the kernel clears up: directories of control groups.

They are empty then and cost nothing, but they would add up. Both versions of control groups are
looked through: the second has one tree, the first one for each controller.
"""

import contextlib
import os
from pathlib import Path

PREFIX = "kudo-node-"
"""How the group of a node begins; sandbox.sh adds the pid of the node's first process."""
_ROOT = Path("/sys/fs/cgroup")


def sweep(root: Path = _ROOT) -> None:
    """Remove the control groups of all real nodes whose first process has ended."""
    for tree in (*root.glob(f"{PREFIX}*"), *root.glob(f"*/{PREFIX}*")):
        if not Path("/proc", tree.name.removeprefix(PREFIX)).exists():
            _remove(tree)


def _remove(tree: Path) -> None:
    for directory, _, _ in os.walk(tree, topdown=False):
        # Another one may be sweeping too, and a process takes a moment to leave its group.
        with contextlib.suppress(OSError):
            Path(directory).rmdir()
