"""Commands without a cluster, cold: `version`, `package verify` of an example, and `search`.

Each is beside an interpreter that does nothing, in the same round.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure
from tests.bench.measure.cold_start import BARE, Cost, cpu, fastest, multiples, wall
from tests.bench.rounds import alternating
from tests.bench.world import program

PACKAGES: Final = 1000
SEARCH_SECONDS: Final = 0.5
LIMITS: Final = {"version": 8.0, "package verify": 20.0}
"""Multiples of a bare interpreter."""
_EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "first-operator"


def bench(rounds: int) -> list[Figure]:
    """Run each command in every round."""
    with tempfile.TemporaryDirectory() as folder:
        home = write_repository(Path(folder), PACKAGES)
        kudo = str(program("kubectl-kudo"))
        commands = {
            "bare": BARE,
            "version": (kudo, "version"),
            "package verify": (kudo, "package", "verify", str(_EXAMPLE)),
            "search": (kudo, "search", "1", f"--home={home}"),
        }
        found = asyncio.run(
            alternating(
                rounds, {name: partial(_measure, command) for name, command in commands.items()}
            )
        )
    figures = [multiples(name, found[name], found["bare"], most) for name, most in LIMITS.items()]
    return [*figures, _search(found["search"])]


async def _measure(command: tuple[str, ...]) -> Cost:
    return fastest(command)


def _search(rounds: list[Cost]) -> Figure:
    return Figure(
        f"cold start: search over an index of {PACKAGES} packages",
        f"<= {SEARCH_SECONDS} s",
        f"{wall(rounds).told(2, unit='s')}, CPU {cpu(rounds).told(2, unit='s')}",
        ok=wall(rounds).median <= SEARCH_SECONDS,
        values={"wall": wall(rounds).values, "cpu": cpu(rounds).values},
    )


def write_repository(folder: Path, packages: int) -> Path:
    """Write a repository of many packages, and return a folder of KUDO whose context it is."""
    (folder / "index.yaml").write_text("\n".join(_index(packages)), encoding="utf-8")
    settings = folder / "home" / "repository" / "repositories.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f"context: big\nrepositories:\n- {{name: big, url: '{folder.as_uri()}'}}\n",
        encoding="utf-8",
    )
    return folder / "home"


def _index(packages: int) -> Iterator[str]:
    yield "apiVersion: v1"
    yield "entries:"
    for number in range(packages):
        yield f"  package-{number}:"
        yield f"  - name: package-{number}"
        yield f"    operatorVersion: 0.{number % 7}.0"
        yield f"    appVersion: 1.{number % 11}.0"
        yield "    description: A package of the size that published ones have in their index."
        yield "    maintainers: [{name: A Maintainer, email: maintainer@example.org}]"
        yield f"    digest: {hashlib.sha256(str(number).encode()).hexdigest()}"
        yield f"    urls: [https://packages.example.org/package-{number}.tgz]"
    yield "generated: 2026-01-01T00:00:00Z"
    yield ""
