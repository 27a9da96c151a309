"""Own writes and the changes of others, whichever of answer and event comes first."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from kubeio.cache.store import Delta
from kudo.api import JsonObject
from kudo_reconciler.store.freshness import OwnWrites


def at(version: int) -> JsonObject:
    return {"metadata": {"name": "a", "resourceVersion": str(version)}}


def delta(version: int) -> Delta:
    return Delta("updated", at(version), None)


class Seen:
    """Own writes to objects named by a letter, and what was news of them."""

    def __init__(self) -> None:
        self.news: list[tuple[str, str]] = []
        self.own = OwnWrites[str](self._told)

    def _told(self, key: str, delta: Delta) -> None:
        self.news.append((key, delta.object["metadata"]["resourceVersion"]))

    @contextmanager
    def writing(self, key: str = "a") -> Iterator[None]:
        with self.own.writing(key):
            yield
            assert self.news == []


def test_a_change_while_nothing_is_written_is_news() -> None:
    seen = Seen()
    seen.own.changed("a", delta(1))
    assert seen.news == [("a", "1")]


@pytest.mark.parametrize("event_first", [True, False])
def test_the_own_write_is_no_news(event_first: bool) -> None:
    seen = Seen()
    with seen.writing():
        if event_first:
            seen.own.changed("a", delta(2))
        seen.own.answered("a", at(2))
        if not event_first:
            seen.own.changed("a", delta(2))
    assert seen.news == []


def test_what_others_did_meanwhile_is_told_once_the_write_has_ended() -> None:
    seen = Seen()
    with seen.writing():
        seen.own.changed("a", delta(2))
        seen.own.changed("a", delta(3))
        seen.own.answered("a", at(3))
        seen.own.changed("a", delta(4))
    assert seen.news == [("a", "2"), ("a", "4")]


def test_a_write_that_fails_makes_everything_news() -> None:
    seen = Seen()
    with suppress(ConnectionError), seen.writing():
        seen.own.changed("a", delta(2))
        raise ConnectionError
    assert seen.news == [("a", "2")]


def test_two_writes_at_a_time_tell_when_the_last_has_ended() -> None:
    seen = Seen()
    with seen.writing():
        with seen.writing():
            seen.own.changed("a", delta(3))
            seen.own.changed("a", delta(4))
            seen.own.answered("a", at(3))
        seen.own.answered("a", at(4))
    assert seen.news == []


def test_other_objects_are_told_of_at_once() -> None:
    seen = Seen()
    with seen.own.writing("a"):
        seen.own.changed("b", delta(2))
        assert seen.news == [("b", "2")]


def test_an_object_that_keeps_changing_is_told_of_before_the_write_has_ended() -> None:
    seen = Seen()
    with seen.own.writing("a"):
        for version in range(100):
            seen.own.changed("a", delta(version))
        assert 0 < len(seen.news) < 100
    assert len(seen.news) == 100


def gone(uid: str, version: int) -> Delta:
    last = {"metadata": {"name": "a", "uid": uid, "resourceVersion": str(version)}}
    return Delta("deleted", last, None)


@pytest.mark.parametrize("event_first", [True, False])
def test_an_own_deletion_is_no_news_whatever_version_its_event_has(event_first: bool) -> None:
    seen = Seen()
    with seen.writing():
        if event_first:
            seen.own.changed("a", gone("u", 7))
        seen.own.deleted("a", "u")
        if not event_first:
            seen.own.changed("a", gone("u", 7))
    assert seen.news == []


def test_what_was_made_in_the_place_of_a_deleted_object_is_news() -> None:
    seen = Seen()
    with seen.writing():
        seen.own.deleted("a", "u")
        seen.own.changed("a", gone("u", 7))
        seen.own.changed("a", delta(8))
        seen.own.changed("a", gone("other", 9))
    assert seen.news == [("a", "8"), ("a", "9")]
