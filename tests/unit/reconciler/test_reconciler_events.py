"""Names of events: valid, the same for the same execution, different for different ones."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo_reconciler.events.writer import event_name

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
VALID = re.compile(rf"{LABEL}(\.{LABEL})*")
UID = "1c2d3e4f-0000-4000-8000-aaaaaaaaaaaa"

_labels = st.text("a0-", min_size=1, max_size=80).map(lambda text: text.strip("-") or "b")
_names = st.lists(_labels, min_size=1, max_size=3).map(".".join)
_uids = st.one_of(
    st.uuids(version=4).map(str), st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
)
_kinds = st.sampled_from(["started", "finished", "tasktemplaterenderingerror"])


def test_an_event_is_named_after_instance_uid_and_what_happened() -> None:
    assert event_name("i", UID, "started") == f"i.{UID}.started"


@pytest.mark.parametrize(
    "uid",
    [
        "",
        "A",
        "a_b",
        "a b",
        "a/b",
        "-a",
        "a-",
        ".a",
        "a..b",
        "a\n",
        "\u00e4",
        "x" * 300,
        "\U0001f600",
    ],
)
def test_a_uid_that_cannot_stand_in_a_name_is_hashed(uid: str) -> None:
    name = event_name("i", uid, "started")
    assert re.fullmatch(r"i\.[0-9a-f]{16}\.started", name)


def test_the_longest_name_that_fits_is_taken_as_it_is() -> None:
    room = 253 - len(f".{UID}.finished")
    assert event_name("i" * room, UID, "finished") == f"{'i' * room}.{UID}.finished"
    longer = event_name("i" * (room + 1), UID, "finished")
    assert re.fullmatch(r"i+\.[0-9a-f]{16}\.finished", longer)


def test_a_name_is_never_cut_at_a_dot_or_a_dash() -> None:
    for at in range(200, 253):
        for mark in (".", "-"):
            name = event_name("i" * at + mark + "j" * (252 - at), "A", "finished")
            assert VALID.fullmatch(name)


@given(_names, _uids, _kinds)
def test_a_name_is_always_valid_and_always_the_same(instance: str, uid: str, what: str) -> None:
    name = event_name(instance, uid, what)
    assert len(name) <= 253
    assert VALID.fullmatch(name)
    assert name.endswith(f".{what}")
    assert event_name(instance, uid, what) == name


@given(_names, _uids, _uids)
def test_two_executions_never_share_an_event(instance: str, one: str, two: str) -> None:
    same = event_name(instance, one, "started") == event_name(instance, two, "started")
    assert same == (one == two)


@given(_names)
def test_start_and_end_are_two_events(instance: str) -> None:
    uid = str(uuid.UUID(int=1))
    assert event_name(instance, uid, "started") != event_name(instance, uid, "finished")
