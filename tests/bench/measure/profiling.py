"""Profiles of what a bench measures: cProfile of a service's main process, or of the bench itself.

A profiled service is the same program, started as `python -m cProfile`; it writes its profile when
it ends. Beside `NAME.prof`, which other tools read, stands `NAME.txt` with the functions that took
most.
Figures of a profiled run say nothing of speed: profiling doubles the CPU time of Python code.
"""

import cProfile
import io
import pstats
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kudo_cluster.installation import Service

_LINES: Final = 45
_ROOT: Final = Path(__file__).resolve().parents[3]
_MODULES: Final = {"kudo-reconciler": "kudo_reconciler", "kudo-webhook": "kudo_webhook"}


@dataclass(frozen=True, slots=True)
class Profiles:
    """Where profiles go.

    Attributes:
        directory: None if nothing is profiled.
    """

    directory: Path | None = None

    def command(self, name: str, command: list[str]) -> list[str]:
        """Return a service's command, profiled if profiles are wanted."""
        module = _MODULES.get(Path(command[0]).name)
        if self.directory is None or module is None:
            return command
        output = self.directory / f"{name}.prof"
        return [
            *(sys.executable, "-m", "cProfile", "-o", str(output), "-m", module),
            *command[1:],
        ]

    @contextmanager
    def of_service(self, service: Service, name: str) -> Iterator[None]:
        """Profile a stopped service from its start in the block to its end in the block."""
        before = service.command
        service.command = self.command(name, before)
        try:
            yield
        finally:
            service.command = before
        self.write_tables()

    @contextmanager
    def of_this_process(self, name: str) -> Iterator[None]:
        """Profile the calling thread for the block."""
        if self.directory is None:
            yield
            return
        with cProfile.Profile() as profile:
            yield
        profile.dump_stats(self.directory / f"{name}.prof")
        self.write_tables()

    def write_tables(self) -> None:
        """Write a table beside each profile."""
        if self.directory is not None:
            for profile in self.directory.glob("*.prof"):
                profile.with_suffix(".txt").write_text(table(profile), encoding="utf-8")


def table(profile: Path) -> str:
    """Return the functions that took most by themselves, then those that took most in all.

    Paths are told relative to the checkout or to the folder of the packages.
    """
    text = io.StringIO()
    stats = pstats.Stats(str(profile), stream=text)
    for order in ("tottime", "cumulative"):
        stats.sort_stats(order).print_stats(_LINES)
    shortened = text.getvalue()
    for prefix in (
        f"{_ROOT}/",
        *(f"{Path(one)}/" for one in sys.path if one.endswith("-packages")),
    ):
        shortened = shortened.replace(prefix, "")
    return shortened
