"""Lives of Instances whose changes pass admission by, while versions change and vanish."""

import pytest

from tests.unit.kudo.lifecycle_life import run_lives
from tests.unit.kudo.lifecycle_outages import LifeWithoutWebhooks

pytestmark = pytest.mark.hypothesis


def test_a_life_past_admission_keeps_its_promises_and_comes_to_rest() -> None:
    run_lives(LifeWithoutWebhooks)
