"""What the annotation says about those who share an object, and what an older release reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.identity import InstanceIdentity
from kudo.objects.inventory.sharers import annotation
from kudo.objects.sharing import (
    MOST_NAMED,
    is_listed,
    is_shared_by,
    last_sharer,
    names_everybody,
    sharers,
)

NAMES = st.text("abc-019.", min_size=1, max_size=8)
SHARERS = st.builds(InstanceIdentity, NAMES, NAMES, NAMES)


def numbered(count: int) -> list[InstanceIdentity]:
    return [InstanceIdentity("ns", f"i{number:02}", f"u{number:02}") for number in range(count)]


def metadata(text: str) -> JsonObject:
    return {"name": "x", "annotations": {"kudo.dev/shared-by": text}}


def read_before(text: str) -> tuple[InstanceIdentity, ...]:
    """Return what the release before the Inventories read, by its own code."""
    parts = (tuple(entry.split("/")) for entry in text.split(","))
    found = sorted({part for part in parts if len(part) == 3 and all(part)})
    return tuple(InstanceIdentity(*part) for part in found)


def test_as_many_as_it_names_are_all_listed() -> None:
    some = numbered(MOST_NAMED)
    text = annotation(some[:-1], some[-1])
    assert text == ",".join(f"ns/{one.name}/{one.uid}" for one in some)
    assert names_everybody(metadata(text))
    assert last_sharer(metadata(text)) is None
    assert read_before(text) == tuple(some)


def test_of_more_it_names_the_last() -> None:
    some = numbered(MOST_NAMED + 1)
    text = annotation(some, some[-1])
    assert text == "more than 16 Instances, the last one ns i16 u16"
    assert not names_everybody(metadata(text))
    assert last_sharer(metadata(text)) == some[-1]
    assert sharers(metadata(text)) == read_before(text) == ()


@given(st.sets(SHARERS, max_size=20), SHARERS)
def test_who_is_listed_is_read_by_an_older_release_too(
    listed: set[InstanceIdentity], last: InstanceIdentity
) -> None:
    text = annotation(numbered(MOST_NAMED + 1), last, listed)
    assert read_before(text) == sharers(metadata(text)) == tuple(sorted(listed))
    assert last_sharer(metadata(text)) == last
    assert is_shared_by(metadata(text), last)
    assert is_listed(metadata(text), last) is (last in listed)


def test_a_last_one_that_cannot_be_read_hides_no_other(subtests: pytest.Subtests) -> None:
    for end in ["", "ns", "ns a", "ns a u more", "ns  u", " a u"]:
        with subtests.test(end=end):
            found = metadata(f"more than 16 Instances, the last one {end},ns/i00/u00")
            assert last_sharer(found) is None
            assert not names_everybody(found)
            assert sharers(found) == tuple(numbered(1))
