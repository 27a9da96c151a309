"""When to kill, and whom."""

import os
from pathlib import Path

import pytest

from tests.galera import chaos
from tests.support.build import Json


def _instance(status: str, *steps: str) -> Json:
    found = [{"name": f"s{number}", "status": step} for number, step in enumerate(steps)]
    plan = {"status": status, "phases": [{"name": "p", "steps": found}]}
    return {"status": {"planStatus": {"scale": plan}}}


@pytest.mark.parametrize(
    ("instance", "half"),
    [
        (_instance("IN_PROGRESS", "COMPLETE", "IN_PROGRESS", "PENDING"), True),
        (_instance("IN_PROGRESS", "IN_PROGRESS"), True),
        (_instance("IN_PROGRESS", "COMPLETE", "PENDING", "PENDING", "PENDING"), False),
        (_instance("COMPLETE", "COMPLETE"), False),
        (_instance("PENDING", "PENDING"), False),
    ],
)
def test_a_plan_is_half_done_when_half_of_its_steps_but_one_have_ended(
    instance: Json, half: bool
) -> None:
    assert chaos.half_done(instance, "scale") is half


def test_a_program_is_found_by_its_name_and_its_control_group() -> None:
    name = Path("/proc/self/comm").read_text().strip()
    group = Path("/proc/self/cgroup").read_text().splitlines()[0]
    assert os.getpid() in chaos.processes(["another", group], name)
    assert chaos.processes(["a-container-that-is-not-there"], name) == []
