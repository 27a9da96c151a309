"""Lives by hand: `python -m tests.unit.reconciler.lives --lives 1000 --from 1 --size 25`.

`--shrink` looks for the shortest life of each seed that breaks a promise.
"""

import argparse
import sys
import time
from typing import get_args

from tests.unit.reconciler.lives.life import live
from tests.unit.reconciler.lives.users import Sort


def broken(sort: Sort, seed: int, size: int) -> str:
    """Return how a life breaks a promise; empty if it keeps them all."""
    try:
        live(sort, seed, size)
    except Exception as error:  # noqa: BLE001 - a fault in a life is what is looked for
        return f"{type(error).__name__}: {str(error) or repr(error)}"[:1500]
    return ""


def shortest(sort: Sort, seed: int, size: int) -> int:
    """Return the least size at which a life breaks a promise."""
    return next(n for n in range(size + 1) if n == size or broken(sort, seed, n))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lives", type=int, default=1)
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--size", type=int, default=25)
    parser.add_argument("--sort", choices=get_args(Sort))
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    sorts: tuple[Sort, ...] = (options.sort,) if options.sort else get_args(Sort)
    began, found = time.monotonic(), 0
    for seed in range(options.first, options.first + options.lives):
        sort = sorts[seed % len(sorts)]
        why = broken(sort, seed, options.size)
        if why:
            found += 1
            size = shortest(sort, seed, options.size) if options.shrink else options.size
            _say(f"{sort!r} seed {seed} size {size}: {why}")
    _say(f"{options.lives} lives, {found} broken, {time.monotonic() - began:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
