"""A test that waits in vain says what for, and what was there instead."""

import asyncio

import pytest

from tests.support.loops.lacking import in_vain, within


async def test_a_wait_in_vain_shows_the_condition_and_what_it_looked_at() -> None:
    seen = {"ready": 1}
    with pytest.raises(AssertionError) as caught:
        await until(lambda: seen["ready"] == 2)
    said = str(caught.value)
    assert said.startswith("waited 0 s in vain for ")
    assert 'seen["ready"] == 2' in said
    assert "seen = {'ready': 1}" in said


async def test_a_wait_that_ends_in_time_raises_nothing() -> None:
    await until(lambda: True)


def test_a_method_shows_what_it_belongs_to() -> None:
    assert "self = {'a': 1}" in in_vain(60, Seen(a=1).complete)


def test_what_has_no_source_shows_itself() -> None:
    assert in_vain(60, [].append).startswith("waited 60 s in vain for <built-in method append")


def test_a_very_long_state_is_cut() -> None:
    text = "x" * 10_000
    assert len(in_vain(60, lambda: text)) < 1_000


class Seen(dict[str, int]):
    def complete(self) -> bool:
        return len(self) == 2


async def until(condition: object) -> None:
    assert callable(condition)
    async with within(0.01, condition):
        while not condition():  # noqa: ASYNC110 - as the helpers of tests wait
            await asyncio.sleep(0)
