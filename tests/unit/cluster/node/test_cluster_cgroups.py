"""Sweeping control groups: dead nodes' go, everything else stays.

Directories stand for control groups, so only those without files can be removed.
"""

import os
from pathlib import Path

import pytest

from kudo_cluster.node.real import sweep_cgroups

# More than any kernel counts up to.
_DEAD = 2**22 + 1


@pytest.mark.parametrize("tree", ["", "memory"], ids=["version 2", "version 1"])
def test_the_groups_of_a_dead_node_go(tmp_path: Path, tree: str) -> None:
    (tmp_path / tree / f"kudo-node-{_DEAD}" / "pod" / "container").mkdir(parents=True)
    sweep_cgroups(tmp_path)
    assert not (tmp_path / tree / f"kudo-node-{_DEAD}").exists()


def test_the_groups_of_a_node_that_runs_stay_even_if_nothing_is_in_them(tmp_path: Path) -> None:
    running = tmp_path / "memory" / f"kudo-node-{os.getpid()}" / "empty"
    running.mkdir(parents=True)
    sweep_cgroups(tmp_path)
    assert running.is_dir()


def test_the_groups_of_others_stay(tmp_path: Path) -> None:
    for name in ("docker", "memory/kubepods", "kudo-something"):
        (tmp_path / name).mkdir(parents=True)
    sweep_cgroups(tmp_path)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == [
        "docker",
        "kudo-something",
        "memory",
        "memory/kubepods",
    ]


def test_a_machine_without_control_groups_needs_no_sweeping(tmp_path: Path) -> None:
    sweep_cgroups(tmp_path / "nowhere")
