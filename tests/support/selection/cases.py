"""Which cases of a long table a test runs: a sample of each kind, or all with KUDO_ALL_CASES=1.

The sample is the same in every run, so that a change fails for what it changed.
"""

import os
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeVar

Case = TypeVar("Case")

ALL_CASES: Final = os.environ.get("KUDO_ALL_CASES") == "1"
SEED: Final = 19


def cases(every: Sequence[Case], kind: Callable[[Case], Hashable], *, each: int) -> list[Case]:
    """Return so many cases of each kind, or all of them, in their order.

    Args:
        kind: Tells apart cases that different rules decide.
    """
    numbers = defaultdict[Hashable, list[int]](list)
    for number, case in enumerate(every):
        numbers[kind(case)].append(number)
    chance = random.Random(SEED)
    chosen = {
        number
        for some in numbers.values()
        for number in (some if ALL_CASES else chance.sample(some, min(each, len(some))))
    }
    return [every[number] for number in sorted(chosen)]


def chosen(every: int, run: int) -> str:
    """Return the line about the choice that is printed at the end of the run."""
    return f"{run} of {every} cases, seed {SEED}" if run < every else f"all {every} cases"
