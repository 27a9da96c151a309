"""Delays: jittered, capped, honouring the server's wish."""

import random

import pytest

from kubeio.backoff import Backoff
from kubeio.errors import ConnectionLost, TooManyRequests


def test_the_ceiling_doubles_up_to_the_cap() -> None:
    backoff = Backoff(base=1, cap=5)
    ceilings = []
    for _ in range(5):
        ceilings.append(backoff.ceiling)
        backoff.next()
    assert ceilings == [1, 2, 4, 5, 5]


def test_delays_fill_the_whole_range_below_the_ceiling() -> None:
    delays = [Backoff(base=8, cap=60, rng=random.Random(seed)).next() for seed in range(200)]
    assert 0 <= min(delays) < 1
    assert 7 < max(delays) <= 8


def test_a_delay_has_at_least_its_share_of_the_ceiling() -> None:
    delays = [Backoff(8, 60, least=0.5, rng=random.Random(seed)).next() for seed in range(200)]
    assert 4 <= min(delays) < 4.5
    assert 7.5 < max(delays) <= 8


def test_what_the_server_asks_for_is_a_lower_bound() -> None:
    backoff = Backoff(base=1, cap=60, rng=random.Random(1))
    error = TooManyRequests("busy", status=429, retry_after=30)
    assert all(30 <= backoff.next(error) <= 90 for _ in range(50))


@pytest.mark.parametrize(
    "error", [TimeoutError(), ConnectionLost("cut off"), TooManyRequests("busy", status=429)]
)
def test_an_error_without_a_wish_of_the_server_changes_nothing(error: Exception) -> None:
    assert 0 <= Backoff(base=1, cap=60).next(error) <= 1


def test_reset_starts_over() -> None:
    backoff = Backoff(base=1, cap=60)
    for _ in range(10):
        backoff.next()
    backoff.reset()
    assert backoff.ceiling == 1


def test_thousands_of_failures_do_not_overflow() -> None:
    backoff = Backoff(base=1, cap=60, attempts=100_000)
    assert 0 <= backoff.next() <= 60
