"""Whose a retained object is."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api.identity import InstanceIdentity
from kudo.objects.adoption import Retention, may_take_over, retained_by
from kudo.objects.policies import is_retained

ONE = InstanceIdentity("ns", "db", "u-1")
RETENTION = Retention("ns", "db", "mysql", "u-1")
NAMES = st.text("abc-.019", min_size=1, max_size=8)


def of(**annotations: Any) -> dict[str, Any]:
    return {"annotations": {f"kudo.dev/{k.replace('_', '-')}": v for k, v in annotations.items()}}


def test_the_annotation_names_the_instance_and_its_operator() -> None:
    assert str(Retention.of(ONE, "mysql")) == "ns/db/mysql/u-1"
    assert RETENTION.instance == ONE


def test_the_annotation_says_that_the_object_existed_before() -> None:
    adopted = replace(RETENTION, adopted=True)
    assert str(adopted) == "ns/db/mysql/u-1/adopted"
    assert retained_by(of(retained_by=str(adopted))) == adopted


@given(st.builds(Retention, NAMES, NAMES, NAMES, NAMES, st.booleans()))
def test_what_is_written_is_read_again(retention: Retention) -> None:
    assert retained_by(of(retained_by=str(retention))) == retention


def test_blanks_around_the_parts_do_not_count() -> None:
    assert retained_by(of(retained_by=" ns / db/mysql/u-1\n")) == RETENTION


def test_what_cannot_be_read_names_nobody() -> None:
    table: list[Any] = [
        *("", "///", "ns/db/mysql", "ns/db/mysql/", "ns//mysql/u", " / / / "),
        *("a/b/c/d/e", "a/b/c/d/adopted/", None, 3),
    ]
    for text in table:
        assert retained_by(of(retained_by=text)) is None


@pytest.mark.parametrize("metadata", [{}, {"annotations": None}, {"annotations": {}}])
def test_an_object_without_annotations_is_not_retained(metadata: dict[str, Any]) -> None:
    assert retained_by(metadata) is None
    assert not is_retained(metadata)


def test_the_policy_retains() -> None:
    table: list[tuple[Any, bool]] = [
        ("retain", True),
        ("delete", False),
        ("Retain", False),
        (True, False),
    ]
    for policy, expected in table:
        assert is_retained(of(deletion_policy=policy)) is expected


def test_an_object_of_the_same_instance_is_its_own(subtests: pytest.Subtests) -> None:
    for lives in [True, False]:
        with subtests.test(lives=lives):
            assert may_take_over(RETENTION, ONE, "mysql", lives=lives)
            assert may_take_over(RETENTION, ONE, "renamed", lives=lives)


NEXT = InstanceIdentity("ns", "db", "u-2")


@pytest.mark.parametrize(
    ("one", "operator", "lives", "expected"),
    [
        pytest.param(NEXT, "mysql", False, True, id="the next one of the name"),
        pytest.param(NEXT, "mysql", True, False, id="while the former one exists"),
        pytest.param(NEXT, "postgres", False, False, id="of another operator"),
        pytest.param(InstanceIdentity("ns", "x", "u-2"), "mysql", False, False, id="another name"),
        pytest.param(
            InstanceIdentity("other", "db", "u-2"), "mysql", False, False, id="another namespace"
        ),
    ],
)
def test_who_may_take_an_object_over(
    one: InstanceIdentity, operator: str, lives: bool, expected: bool
) -> None:
    assert may_take_over(RETENTION, one, operator, lives=lives) is expected
