"""The processes below this one: what they run, and what they wait for in the kernel."""

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_MOST = 400
"""Characters of a command line that are shown."""


def processes() -> str:
    """Return a line for each process that this one has started, and for those that they started."""
    return "".join(f"{'  ' * depth}{_described(pid)}\n" for pid, depth in _below(os.getpid(), 0))


def _below(pid: int, depth: int) -> Iterator[tuple[int, int]]:
    found: list[int] = []
    for path in sorted(_PROC.glob(f"{pid}/task/*/children")):
        found += map(int, _read(path).split())
    for child in found:
        yield child, depth
        yield from _below(child, depth + 1)


def _described(pid: int) -> str:
    command = _read(_PROC / str(pid) / "cmdline").replace("\0", " ").strip()
    status = dict(
        line.split(":\t", 1)
        for line in _read(_PROC / str(pid) / "status").splitlines()
        if ":\t" in line
    )
    state = status.get("State", "gone")
    waits = dict.fromkeys(_read(path) for path in sorted(_PROC.glob(f"{pid}/task/*/wchan")))
    shown = ", ".join(wait for wait in waits if wait not in {"", "0"}) or "nothing in the kernel"
    return f"process {pid}, {state}, waits for {shown}: {command[:_MOST] or status.get('Name', '')}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # It has ended.
