"""What others have changed in a record is taken back, and nothing else."""

from dataclasses import replace

from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, Record
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.damage import Damage

ONE = InstanceIdentity("ns", "book", "uid-1")
AGAIN = InstanceIdentity("ns", "book", "uid-2")


def entry(name: str, digest: str = "1") -> Entry:
    return Entry(Place("", "ConfigMap", "ns", name), "v1", "configmaps", "deploy", "t", digest)


def record(*entries: Entry, complete: bool = False) -> Record:
    return replace(Record().merged(entries), complete=complete)


def repaired(damage: Damage, now: Record) -> Record:
    found = damage.of(ONE)
    assert found is not None
    return found.repaired(now)


def test_what_was_removed_changed_or_added_is_as_it_was() -> None:
    damage = Damage()
    before = record(entry("a"), entry("b"), complete=True)
    after = record(entry("a", "forged"), entry("c"))
    damage.add(ONE, before, after)
    assert repaired(damage, after) == before


def test_what_was_written_since_stays() -> None:
    damage = Damage()
    damage.add(ONE, record(entry("a"), entry("b")), record(entry("c")))
    now = record(entry("a", "2"), entry("c", "ours"))
    assert repaired(damage, now) == record(entry("a", "2"), entry("c", "ours"), entry("b"))


def test_several_changes_are_taken_back_together() -> None:
    damage = Damage()
    first, second = record(entry("a", "forged")), record(entry("x"))
    damage.add(ONE, record(entry("a"), complete=True), first)
    damage.add(ONE, first, second)
    assert repaired(damage, second) == record(entry("a"), complete=True)


def test_an_own_write_between_two_changes_counts() -> None:
    damage = Damage()
    damage.add(ONE, record(entry("a")), record(entry("a", "forged")))
    damage.add(ONE, record(entry("a", "ours")), record())
    assert repaired(damage, record()) == record(entry("a", "ours"))


def test_a_record_that_was_complete_is_complete_again_and_no_other_one_is() -> None:
    damage = Damage()
    damage.add(ONE, record(entry("a")), record(entry("a"), complete=True))
    assert not repaired(damage, record(entry("a"), complete=True)).complete


def test_changes_are_of_one_instance_and_forgotten_once_they_are_repaired() -> None:
    damage = Damage()
    damage.add(ONE, record(entry("a")), record())
    first = damage.of(ONE)
    assert first is not None
    assert damage.of(AGAIN) is None
    damage.add(ONE, record(entry("b")), record())
    # Another one has come while the first was being repaired.
    damage.is_repaired(ONE, first)
    second = damage.of(ONE)
    assert second is not None
    damage.is_repaired(ONE, second)
    assert damage.of(ONE) is None
    damage.add(ONE, record(entry("a")), record())
    damage.forget(Key("ns", "book"))
    assert len(damage) == 0


async def test_a_record_is_restored_at_most_every_30_seconds() -> None:
    damage, key = Damage(), Key("ns", "book")
    assert damage.wait(key) == 0
    damage.tried(key)
    assert 29 < damage.wait(key) <= 30
    for number in range(1000):
        damage.tried(Key("ns", f"other-{number}"))
    # The oldest ones are forgotten.
    assert damage.wait(key) == 0
