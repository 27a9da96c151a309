"""Records of thousands of objects: the event loop runs other tasks meanwhile."""

import asyncio
from collections.abc import Awaitable, Collection
from types import SimpleNamespace
from typing import TypeVar, cast

import pytest

from kudo.objects.inventory.record import Entry, Place, Record, shards
from kudo_reconciler.objects.recorder import Answers, PlanEntries, covers
from kudo_reconciler.objects.run_context import Answer, RunContext
from kudo_reconciler.store import inventories
from kudo_reconciler.store.inventories import MOST_ENTRIES, KeptRecords

T = TypeVar("T")
MANY = 6000
PAUSES = MANY // 500 - 1


def entry(number: int, digest: str = "", uid: str = "") -> Entry:
    place = Place("", "ConfigMap", "ns", f"name-{number}")
    return Entry(place, "v1", "configmaps", "deploy", "app", digest, uid)


ENTRIES = [entry(number) for number in range(MANY)]
RECORD = Record().merged(ENTRIES)


def context(recorded: Collection[Place] = ()) -> RunContext:
    metadata = SimpleNamespace(namespace="ns")
    found = SimpleNamespace(recorded=recorded, instance=SimpleNamespace(metadata=metadata))
    return cast("RunContext", found)


async def counted(work: Awaitable[T]) -> tuple[T, int]:
    """Return a result, and how often another task ran meanwhile."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    try:
        return await work, turns
    finally:
        task.cancel()


@pytest.mark.parametrize("known", [Record(), RECORD], ids=["new", "known"])
async def test_comparing_entries_gives_the_loop_back(known: Record) -> None:
    found, turns = await counted(PlanEntries.of(ENTRIES, known, context()))
    assert found.lacking is (known is not RECORD)
    assert turns >= PAUSES


async def test_a_record_that_has_all_entries_is_returned_as_it_is() -> None:
    found = await PlanEntries.of(ENTRIES, RECORD, context())
    assert found.merged(RECORD) is RECORD
    # Also one that was read since.
    read = Record().merged(ENTRIES)
    assert found.merged(read) is read


async def test_another_digest_is_merged_only_with_another_reason() -> None:
    changed = entry(0, "1")
    alone = await PlanEntries.of([changed], RECORD, context({changed.place}))
    assert alone.merged(RECORD) is RECORD
    both = await PlanEntries.of([changed, entry(MANY)], RECORD, context({changed.place}))
    assert both.merged(RECORD).get(changed.place) == changed


async def test_what_was_written_meanwhile_is_kept() -> None:
    found = await PlanEntries.of([entry(0, "1")], RECORD, context())
    since = RECORD.merged([entry(MANY), entry(0, uid="u")])
    after = found.merged(since)
    assert after.get(entry(MANY).place) is not None
    assert after.get(entry(0).place) == entry(0, "1", "u")


async def test_an_entry_that_cannot_be_stored_is_left_out() -> None:
    wrong = Entry(Place("", "ConfigMap", "ns", "a/b"), "v1", "configmaps")
    found = await PlanEntries.of([wrong, entry(MANY)], RECORD, context())
    assert found.refused
    assert found.merged(RECORD).get(wrong.place) is None


async def test_looking_for_entries_gives_the_loop_back() -> None:
    found, turns = await counted(covers(RECORD, ENTRIES, ()))
    assert found
    assert turns >= PAUSES


async def test_adding_answers_gives_the_loop_back() -> None:
    answers = {one.place: Answer("u", adopted=False) for one in ENTRIES}
    found, turns = await counted(Answers.of(answers, RECORD))
    assert turns >= PAUSES
    assert {one.uid for one in found.added(RECORD)} == {"u"}
    # Also to a record that has changed since.
    (one,) = found.added(Record().merged([entry(0, "1")]))
    assert one == entry(0, "1", "u")


async def test_spreading_entries_gives_the_loop_back() -> None:
    contents, turns = await counted(inventories._contents(RECORD, []))
    assert contents == shards(RECORD)
    assert turns >= PAUSES


def test_kept_records_are_bounded_by_their_entries() -> None:
    kept, instances = KeptRecords(), [[{"n": n}] for n in range(MOST_ENTRIES // MANY + 5)]
    for number, found in enumerate(instances):
        kept.put(f"u-{number}", found, RECORD)
    assert len(kept) == MOST_ENTRIES // (MANY + 1)
    assert kept.find("u-0", instances[0]) is None
    assert kept.find(f"u-{len(instances) - 1}", instances[-1]) is RECORD


def test_the_record_in_use_is_kept_however_large_it_is() -> None:
    kept, large = KeptRecords(), Record().merged(map(entry, range(MOST_ENTRIES + 1)))
    kept.put("u-0", [], RECORD)
    kept.put("u-1", [], large)
    assert kept.find("u-0", []) is None
    assert kept.find("u-1", []) is large
    kept.put("u-1", [], RECORD)
    kept.put("u-0", [], RECORD)
    assert len(kept) == 2


def test_a_kept_record_is_that_of_the_same_inventories() -> None:
    kept, found = KeptRecords(), [{"n": 1}]
    kept.put("u", found, RECORD)
    assert kept.find("u", [{"n": 1}]) is None
    kept.clear()
    assert kept.find("u", found) is None
