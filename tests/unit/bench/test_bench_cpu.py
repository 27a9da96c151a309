"""CPU time by group, on real processes."""

import os
import subprocess
import sys
import time

from tests.bench.tenants.cpu import GROUPS, Groups, below, between, mean, own

_USED = 0.18
"""Seconds of the 0.2 that `_BURN` takes; ticks of 10 ms are cut off."""
_BURN = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"


def test_what_a_child_used_counts_with_its_parent_before_and_after_it_is_reaped() -> None:
    before, others = below(os.getpid()), own(os.getpid())
    command = [sys.executable, "-c", _BURN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert own(child.pid) >= _USED
        assert below(os.getpid()) - before >= _USED
        child.communicate(b"\n")
    assert below(os.getpid()) - before >= _USED
    assert own(child.pid) == 0.0
    assert own(os.getpid()) >= others


def test_groups_are_read_apart_and_the_rest_is_that_of_the_machine() -> None:
    # This process stands for the API server, its parent for both services.
    groups = Groups((os.getpid(),), os.getppid(), os.getppid(), os.getpid())
    before = groups.read()
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    used = between(before, groups.read())
    assert tuple(used) == GROUPS
    assert used["API server, etcd"] >= 0.08
    assert mean([before, before]) == before
