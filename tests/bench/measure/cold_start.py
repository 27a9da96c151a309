"""What one run of a command costs in a new process, its bytecode compiled before."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.figures import Figure
from tests.bench.rounds import Values

BARE: Final = (sys.executable, "-c", "pass")
"""An interpreter that does nothing: what is measured in multiples of it."""
_TIMES: Final = 10
"""Runs of each command in a round; the fastest counts: everything else is the machine."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run of a command."""

    wall: float
    cpu: float


def fastest(command: Sequence[str]) -> Cost:
    """Return the cost of the fastest of several runs.

    Raises:
        RuntimeError: one failed.
    """
    return min((_run(command) for _ in range(_TIMES)), key=lambda cost: cost.wall)


def _run(command: Sequence[str]) -> Cost:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "KUBECONFIG": os.devnull}
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        text = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}: {text}")
    return Cost(wall, used.ru_utime + used.ru_stime)


def multiples(name: str, rounds: Sequence[Cost], bare: Sequence[Cost], limit: float) -> Figure:
    """Return the CPU time of a command as multiples of that of a bare interpreter.

    Args:
        name: The command.
        rounds: What it cost in each round.
        bare: What the interpreter cost in the same rounds.
        limit: The multiples that it may take.
    """
    own, other = cpu(rounds), cpu(bare)
    ratio = own.over(other)
    each = f"{own.told(0, factor=1e3, unit='ms')} over {other.told(0, factor=1e3, unit='ms')}"
    return Figure(
        f"cold start: {name} over python -c pass, CPU",
        f"<= {limit:g}",
        f"{ratio.told(1)}; {each}",
        ok=ratio.median <= limit,
        values={"cpu": own.values, "bare": other.values},
    )


def cpu(rounds: Sequence[Cost]) -> Values:
    """Return the CPU seconds of each round."""
    return Values(tuple(cost.cpu for cost in rounds))


def wall(rounds: Sequence[Cost]) -> Values:
    """Return the seconds of each round by the clock."""
    return Values(tuple(cost.wall for cost in rounds))
