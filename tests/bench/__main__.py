"""`python -m tests.bench [NAME ...]`: measure, and print figures beside their targets.

Each bench runs on a cluster of its own, or on none. Exit codes: 0 measured, whether or not every
target is reached; anything else means that a run broke.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from kudo_cluster.progress import announce
from tests.bench import (
    deleted,
    hostile,
    inline,
    memory,
    records,
    startup,
    templates,
    webhook,
    workers,
)
from tests.bench.figures import Figure, table, write_json
from tests.bench.measure.profiling import Profiles
from tests.bench.options import USUAL, Options
from tests.bench.workloads import commands, deploys, failing, growth, idle, plans, start
from tests.bench.workloads.installed import Installed, installed
from tests.bench.world import World, running_world

WITH_KUDO: Mapping[str, Callable[[Installed], Awaitable[list[Figure]]]] = {
    "deploys": deploys.bench,
    **plans.BENCHES,
    "growth": growth.bench,
    "failing": failing.bench,
    "start": start.bench,
    "idle": idle.bench,
    "commands": commands.bench,
}
BENCHES: Mapping[str, Callable[[World, int], Awaitable[list[Figure]]]] = {
    "webhook": webhook.bench,
    "memory": memory.bench,
    "deleted": deleted.bench,
}
ALONE: Mapping[str, Callable[[int], list[Figure]]] = {
    "templates": templates.bench,
    "workers": workers.bench,
    "inline": inline.bench,
    "records": records.bench,
    "hostile": hostile.bench,
    "startup": startup.bench,
}


def run(name: str, options: Options) -> list[Figure]:
    if name in ALONE:
        with options.profiles.of_this_process(name):
            return ALONE[name](options.rounds)
    if name in WITH_KUDO:
        return asyncio.run(_with_kudo(WITH_KUDO[name], options))
    with running_world(announce, options.profiles) as world:
        return asyncio.run(_without_kudo(BENCHES[name], world, options.rounds))


async def _with_kudo(
    bench: Callable[[Installed], Awaitable[list[Figure]]], options: Options
) -> list[Figure]:
    async with installed(options, announce) as cluster:
        return await bench(cluster)


async def _without_kudo(
    bench: Callable[[World, int], Awaitable[list[Figure]]], world: World, rounds: int
) -> list[Figure]:
    return await bench(world, rounds)


def main() -> None:
    options = _options()
    how = Options(options.rounds, options.instances, Profiles(options.profile))
    if options.profile:
        options.profile.mkdir(parents=True, exist_ok=True)
    figures = []
    for name in options.names:
        figures += run(name, how)
        if options.json:
            write_json(options.json, figures, {"rounds": how.rounds, "instances": how.instances})
    sys.stdout.writelines(f"{line}\n" for line in table(figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    known = [*WITH_KUDO, *ALONE, *BENCHES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    parser.add_argument("--rounds", type=int, default=5, help="paired rounds (default: 5)")
    parser.add_argument(
        "--instances",
        type=int,
        default=USUAL,
        help=f"Instances instead of {USUAL}; other numbers follow in proportion",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument(
        "--profile",
        type=Path,
        metavar="DIRECTORY",
        help="profile the measured process and write NAME.prof and NAME.txt there",
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(known):
        parser.error(f"no bench {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    options.names = options.names or known
    return options


if __name__ == "__main__":
    main()
