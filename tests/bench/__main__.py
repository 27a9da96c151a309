"""`python -m tests.bench [NAME ...]`: measure, and print figures beside their targets.

Each bench runs on a cluster of its own, or on none. Exit codes: 0 measured, whether or not every
target is reached; anything else means that a run broke.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping

from kudo_cluster.progress import announce
from tests.bench import deleted, hostile, inline, memory, templates, webhook, workers
from tests.bench.figures import Figure, table
from tests.bench.world import World, running_world

BENCHES: Mapping[str, Callable[[World, int], Awaitable[list[Figure]]]] = {
    "webhook": webhook.bench,
    "memory": memory.bench,
    "deleted": deleted.bench,
}
ALONE: Mapping[str, Callable[[int], list[Figure]]] = {
    "templates": templates.bench,
    "workers": workers.bench,
    "inline": inline.bench,
    "hostile": hostile.bench,
}


async def run(name: str, rounds: int) -> list[Figure]:
    if name in ALONE:
        return await asyncio.to_thread(ALONE[name], rounds)
    with running_world(announce) as world:
        return await BENCHES[name](world, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    known = [*ALONE, *BENCHES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    parser.add_argument("--rounds", type=int, default=7, help="paired rounds (default: 7)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(known):
        parser.error(f"no bench {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    figures = []
    for name in options.names or known:
        figures += asyncio.run(run(name, options.rounds))
    sys.stdout.writelines(f"{line}\n" for line in table(figures))


if __name__ == "__main__":
    main()
