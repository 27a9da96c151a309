"""Turns: one at a time for each thing, and nothing kept of what nobody works on."""

import asyncio
import gc

from kudo_reconciler.objects.locks import Turns


async def test_one_after_the_other_works_on_a_thing() -> None:
    turns: Turns[str] = Turns()
    inside: list[str] = []
    most = 0

    async def work(name: str) -> None:
        nonlocal most
        async with turns.of("thing"):
            inside.append(name)
            most = max(most, len(inside))
            await asyncio.sleep(0)
            inside.remove(name)

    await asyncio.gather(*(work(name) for name in "abc"))
    assert most == 1


async def test_different_things_wait_for_nobody() -> None:
    turns: Turns[str] = Turns()
    async with turns.of("one"):
        assert not turns.of("other").locked()
        assert turns.of("one").locked()


async def test_what_nobody_works_on_is_forgotten() -> None:
    turns: Turns[str] = Turns()
    async with turns.of("thing"):
        assert len(turns._locks) == 1
    gc.collect()
    assert len(turns._locks) == 0
