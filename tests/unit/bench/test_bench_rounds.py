"""Statistics of rounds: medians, spreads, ratios, percentiles, alternation."""

import pytest

from tests.bench.rounds import Values, alternating, percentile


def test_a_ratio_is_taken_within_each_round() -> None:
    ratio = Values((1.0, 8.0, 3.0)).over(Values((2.0, 4.0, 3.0)))
    assert ratio.values == (0.5, 2.0, 1.0)
    assert (ratio.minimum, ratio.median, ratio.maximum) == (0.5, 1.0, 2.0)


def test_median_and_spread_are_told_in_the_unit_asked_for() -> None:
    seconds = Values((0.0153, 0.0120, 0.0171))
    assert seconds.told(1, factor=1e3, unit="ms") == "15.3 ms (12.0 to 17.1)"
    assert Values((0.5,)).told() == "0.50 (0.50 to 0.50)"


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1), (0.5, 50), (0.9, 90), (0.99, 99), (0.991, 100), (1.0, 100)]
)
def test_a_percentile_is_the_value_of_the_nearest_rank(share: float, expected: int) -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], share) == expected


def test_a_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no percentile 0\.5 of 0 values"):
        percentile([], 0.5)


async def test_subjects_alternate_and_the_order_turns_round_by_round() -> None:
    order: list[str] = []

    async def first() -> int:
        order.append("first")
        return len(order)

    async def second() -> int:
        order.append("second")
        return len(order)

    found = await alternating(3, {"first": first, "second": second})
    assert order == ["first", "second", "second", "first", "first", "second"]
    assert found == {"first": [1, 4, 5], "second": [2, 3, 6]}
