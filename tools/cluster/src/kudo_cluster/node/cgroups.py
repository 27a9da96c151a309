"""Removes the control groups of real nodes that have ended.

The kernel does not remove them. They are empty and cost little, but they would accumulate. cgroup
v2 has one hierarchy, v1 one for each controller; both are searched.
"""

import contextlib
import os
from pathlib import Path

PREFIX = "kudo-node-"
"""Prefix of a node's control group; sandbox.sh appends the pid of the node's first process."""
_ROOT = Path("/sys/fs/cgroup")


def sweep(root: Path = _ROOT) -> None:
    """Remove the control groups of all real nodes whose first process has ended."""
    for tree in (*root.glob(f"{PREFIX}*"), *root.glob(f"*/{PREFIX}*")):
        if not Path("/proc", tree.name.removeprefix(PREFIX)).exists():
            _remove(tree)


def _remove(tree: Path) -> None:
    for directory, _, _ in os.walk(tree, topdown=False):
        # Another process may remove it at the same time, and a process that ends stays in its group
        # for a moment.
        with contextlib.suppress(OSError):
            Path(directory).rmdir()
