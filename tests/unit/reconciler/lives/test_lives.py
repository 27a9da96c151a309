"""Lives of Instances under the real reconciler: every promise is kept, and all comes to rest.

Users change, upgrade, trigger, restart, cancel and delete, prune, adopt and meddle with records;
the reconciler dies, hands over and meets a network that loses and delays. A life that breaks a
promise is told by its sort, seed and size:
`python -m tests.unit.reconciler.lives --sort SORT --from SEED --shrink` finds its least size.
"""

import random

import pytest

from tests.support.selection.cases import ALL_CASES
from tests.support.selection.properties import DEEP, examples
from tests.unit.reconciler.lives.life import live
from tests.unit.reconciler.lives.users import Sort

pytestmark = pytest.mark.hypothesis

SIZE = 25


def seeds(few: int, *, deep: int) -> list[int]:
    """Return the same few seeds in every run, six times as many of them with KUDO_ALL_CASES=1.

    Many others in `make properties`.
    """
    if not DEEP:
        return [*range(1, few * (6 if ALL_CASES else 1) + 1)]
    return random.SystemRandom().sample(range(10**9), examples(few, deep=deep))


def run_lives(sort: Sort) -> None:
    for seed in seeds(2, deep=1500):
        try:
            live(sort, seed, SIZE)
        except BaseException as error:
            error.add_note(f"--sort '{sort}' --from {seed} --size {SIZE}")
            raise


def test_lives_whose_every_change_is_admitted_keep_their_promises() -> None:
    run_lives("admitted")


def test_lives_with_outages_of_mutation_keep_their_promises() -> None:
    run_lives("mutation missing")


def test_lives_whose_versions_add_drop_share_and_retain_objects_keep_their_promises() -> None:
    run_lives("inventory")


def test_lives_past_admission_whose_versions_change_keep_their_promises() -> None:
    run_lives("webhooks missing")
