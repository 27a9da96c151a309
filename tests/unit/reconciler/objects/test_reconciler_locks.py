"""Per-key locks: one holder for each key, and nothing kept of keys that nobody holds."""

import asyncio
import gc

from kudo_reconciler.common.concurrency import KeyedLocks


async def test_a_key_has_one_holder_at_a_time() -> None:
    locks: KeyedLocks[str] = KeyedLocks()
    inside: list[str] = []
    most = 0

    async def work(name: str) -> None:
        nonlocal most
        async with locks.of("key"):
            inside.append(name)
            most = max(most, len(inside))
            await asyncio.sleep(0)
            inside.remove(name)

    await asyncio.gather(*(work(name) for name in "abc"))
    assert most == 1


async def test_different_keys_do_not_wait_for_each_other() -> None:
    locks: KeyedLocks[str] = KeyedLocks()
    async with locks.of("one"):
        assert not locks.of("other").locked()
        assert locks.of("one").locked()


async def test_a_key_that_nobody_holds_is_forgotten() -> None:
    locks: KeyedLocks[str] = KeyedLocks()
    async with locks.of("key"):
        assert len(locks._locks) == 1
    gc.collect()
    assert len(locks._locks) == 0
