"""Lives of Instances whose every change is admitted, by both routes or by validation alone.

Changes, upgrades, triggers, restarts and cancels come at any time, and so do deaths of the
reconciler. Every promise is kept at every write, no admitted state is refused, and once changes
stop, every admitted run has ended.
"""

import pytest

from tests.unit.kudo.lifecycle_life import Life, run_lives
from tests.unit.kudo.lifecycle_outages import LifeWithoutMutation

pytestmark = pytest.mark.hypothesis


def test_every_admitted_life_keeps_its_promises_and_comes_to_rest() -> None:
    run_lives(Life)


def test_a_life_with_outages_of_mutation_keeps_its_promises_and_comes_to_rest() -> None:
    run_lives(LifeWithoutMutation)
