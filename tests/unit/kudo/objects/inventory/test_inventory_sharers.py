"""The annotation of objects that any number of Instances share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.identity import InstanceIdentity
from kudo.objects.inventory.sharers import annotation
from kudo.objects.sharing import MOST_NAMED, is_shared_by, names_everybody, shared_by, sharers

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,8}[a-z0-9])?", fullmatch=True)
IDENTITIES = st.builds(InstanceIdentity, NAMES, NAMES, NAMES)


def some(count: int) -> list[InstanceIdentity]:
    return [InstanceIdentity("ns", f"one-{n:03}", f"uid-{n:03}") for n in range(count)]


def metadata(text: str) -> dict[str, dict[str, str]]:
    return {"annotations": {"kudo.dev/shared-by": text}}


def test_a_few_are_all_named(subtests: pytest.Subtests) -> None:
    for count in [1, 2, MOST_NAMED]:
        with subtests.test(count=count):
            everybody = some(count)
            text = annotation(everybody[:-1], everybody[-1])
            assert text == shared_by(everybody)
            assert sharers(metadata(text)) == tuple(everybody)
            assert names_everybody(metadata(text))


def test_the_last_one_counts_once() -> None:
    everybody = some(MOST_NAMED)
    assert annotation(everybody, everybody[3]) == shared_by(everybody)


def test_of_many_only_the_last_one_is_named() -> None:
    everybody = some(MOST_NAMED + 1)
    text = annotation(everybody[:-1], everybody[-1])
    assert text == "more than 16 Instances, the last one ns one-016 uid-016"
    assert not names_everybody(metadata(text))


@given(IDENTITIES)
def test_nobody_is_listed_in_the_text_for_many(last: InstanceIdentity) -> None:
    many = some(MOST_NAMED)
    found = metadata(annotation(many, last))
    assert sharers(found) == ()
    assert [one for one in (*many, last) if is_shared_by(found, one)] == [last]


@given(IDENTITIES, IDENTITIES)
def test_each_share_changes_the_text(one: InstanceIdentity, other: InstanceIdentity) -> None:
    many = some(MOST_NAMED)
    assert (annotation(many, one) == annotation(many, other)) is (one == other)


def test_the_text_stays_short() -> None:
    last = InstanceIdentity("n" * 63, "i" * 253, "u" * 36)
    assert len(annotation(some(50_000), last)) < 450


@pytest.mark.parametrize("found", [{}, {"annotations": None}, {"annotations": {}}])
def test_without_the_annotation_nobody_is_left_out(found: dict[str, None]) -> None:
    assert names_everybody(found)
