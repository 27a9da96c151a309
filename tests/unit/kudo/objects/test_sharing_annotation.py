"""The list of those who share an object, and what older releases read in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.api.identity import InstanceIdentity
from kudo.objects.sharing import MOST_LISTED, is_listed, lists_all, shared_by, sharers

NAMES = st.text("abc-019.", min_size=1, max_size=8)
SHARERS = st.builds(InstanceIdentity, NAMES, NAMES, NAMES)
FORMER_MOST = 16
"""Up to so many names are all that share an object to the release before this one."""


def numbered(count: int) -> list[InstanceIdentity]:
    return [InstanceIdentity("ns", f"i{number:02}", f"u{number:02}") for number in range(count)]


def metadata(text: str) -> JsonObject:
    return {"name": "x", "annotations": {"kudo.dev/shared-by": text}}


def read_before(text: str) -> tuple[InstanceIdentity, ...]:
    """Return what the releases before the Inventories read, by their own code."""
    parts = (tuple(entry.split("/")) for entry in text.split(","))
    found = sorted({part for part in parts if len(part) == 3 and all(part)})
    return tuple(InstanceIdentity(*part) for part in found)


@given(st.sets(SHARERS, max_size=40))
def test_who_is_listed_is_read_by_all_releases(listed: set[InstanceIdentity]) -> None:
    text = shared_by(listed)
    assert read_before(text) == sharers(metadata(text)) == tuple(sorted(listed))
    assert all(is_listed(metadata(text), one) for one in listed)


def test_a_full_list_may_lack_some() -> None:
    assert lists_all(metadata(shared_by(numbered(MOST_LISTED - 1))))
    assert not lists_all(metadata(shared_by(numbered(MOST_LISTED))))


def test_the_release_before_takes_no_full_list_for_all_when_it_removes_itself() -> None:
    assert MOST_LISTED - 1 > FORMER_MOST


def test_a_full_list_fits_on_any_object() -> None:
    longest = [InstanceIdentity("n" * 63, "i" * 253, f"{number:036}") for number in range(40)]
    # The API server permits 256 KiB of annotations.
    assert len(shared_by(longest[:MOST_LISTED])) < 12_000


@pytest.mark.parametrize("end", ["", "ns", "ns i02 u02", "ns a u more"])
def test_what_the_release_before_wrote_about_many_lists_some(end: str) -> None:
    found = metadata(f"more than 16 Instances, the last one {end},ns/i00/u00")
    assert sharers(found) == tuple(numbered(1))
    assert not lists_all(found)


@pytest.mark.parametrize("text", ["ns/a", "ns//u", "a/b/c/d", ",", "ns/i00/u00,"])
def test_what_names_no_instance_is_left_out_and_somebody_may_be_missing(text: str) -> None:
    found = metadata(text)
    assert sharers(found) == (tuple(numbered(1)) if "i00" in text else ())
    assert not lists_all(found)


@pytest.mark.parametrize("found", [{}, {"annotations": None}, {"annotations": {}}])
def test_without_the_annotation_nobody_is_listed(found: dict[str, None]) -> None:
    assert sharers(found) == ()
    assert lists_all(found)
