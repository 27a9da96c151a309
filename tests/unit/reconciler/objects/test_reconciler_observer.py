"""Kinds that are watched, not yet watched, and not to be watched; who is woken by what is seen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.observer import Observer
from tests.support.informers import reached
from tests.unit.kubeio.fake_api import WIDGET, FakeApi, fake_api, refuse, stream, until

OURS = {"heritage": "kudo", "kudo.dev/instance": "i"}
ME, OTHER = Key("ns", "i"), Key("ns", "other")
TIMING = Timing(backoff=(0.01, 0.02), steady=0.01)


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with fake_api() as started:
        yield started


@asynccontextmanager
async def observer(
    api: FakeApi, woken: list[Key] | None = None, **options: Any
) -> AsyncIterator[Observer]:
    async with Client(api.config, timeout=5.0) as client, asyncio.TaskGroup() as group:
        changed = (woken if woken is not None else []).append
        made = Observer(client, group, changed, options.pop("timing", TIMING), **options)
        yield made
        made.close()


def hold_list(api: FakeApi) -> asyncio.Event:
    """Have the next list answered when the event is set."""
    answer = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        await answer.wait()
        return await api.answer_list(request)

    api.list_faults.append(slow)
    return answer


async def test_a_kind_that_answers_is_watched_at_once(api: FakeApi) -> None:
    async with observer(api) as seen:
        assert await seen.watch(WIDGET)
        assert seen.why_unwatched(WIDGET) == ""
        assert not seen.is_late(WIDGET)
        assert [one.resource for one in seen.informers()] == [WIDGET]


async def test_a_slow_list_holds_its_first_caller_shortly_and_nobody_after_that(
    api: FakeApi,
) -> None:
    answer = hold_list(api)
    async with observer(api, sync_timeout=0.01) as seen, asyncio.timeout(5):
        for _ in range(3):
            assert not await seen.watch(WIDGET)
        assert seen.is_late(WIDGET)
        why = seen.why_unwatched(WIDGET)
        assert why == "widgets.example.dev are not watched yet (no answer yet): polled"
        assert seen.informers() == []
        answer.set()
        await until(lambda: seen.watched(WIDGET))
        assert len(api.lists) == 1


async def test_a_list_that_fails_is_retried_beside_and_wakes_whom_it_shows(api: FakeApi) -> None:
    api.put("a", labels=OURS)
    failing = hold_list(api)
    api.list_faults.extend(refuse(500, "InternalError") for _ in range(3))
    woken: list[Key] = []
    watched: list[Resource] = []
    async with observer(api, woken, on_watched=watched.append, sync_timeout=0.01) as seen:
        assert not await seen.watch(WIDGET)
        assert not seen.sees(WIDGET, "ns", "a", ME)
        assert (woken, watched) == ([], [])
        failing.set()
        await until(lambda: watched)
        assert seen.sees(WIDGET, "ns", "a", ME)
        assert await seen.watch(WIDGET)
    assert woken == [Key("ns", "i")]
    assert watched == [WIDGET]


async def test_why_a_list_fails_is_told(api: FakeApi) -> None:
    api.list_faults.append(refuse(500, "InternalError", **{"Retry-After": "60"}))
    async with observer(api, sync_timeout=0.5) as seen:
        # A start that is slower than half a second has not heard of the error yet.
        await seen.watch(WIDGET)
        await until(lambda: not seen.is_late(WIDGET))
        assert not await seen.watch(WIDGET)
        assert not seen.is_late(WIDGET)
        assert seen.why_unwatched(WIDGET) == (
            "widgets.example.dev cannot be watched now (no (500 InternalError)): polled"
        )


async def test_a_refused_kind_is_not_asked_for_again_at_once(api: FakeApi) -> None:
    api.list_faults.append(refuse(403, "Forbidden"))
    async with observer(api) as seen:
        for _ in range(3):
            assert not await seen.watch(WIDGET)
        assert seen.why_unwatched(WIDGET) == (
            "widgets.example.dev may not be watched (no (403 Forbidden)); grant the reconciler "
            "permission to list and watch widgets.example.dev in all namespaces: polled"
        )
    assert len(api.lists) == 1


@pytest.mark.parametrize(
    ("code", "reason", "why"),
    [
        (404, "NotFound", "does not serve them (no (404 NotFound))"),
        (405, "MethodNotAllowed", "cannot list or watch them (no (405 MethodNotAllowed))"),
    ],
)
async def test_a_kind_that_is_not_there_is_not_told_as_a_right_that_is_missing(
    api: FakeApi, code: int, reason: str, why: str
) -> None:
    api.list_faults.append(refuse(code, reason))
    async with observer(api) as seen:
        assert not await seen.watch(WIDGET)
        told = seen.why_unwatched(WIDGET)
    assert told == f"widgets.example.dev cannot be watched: the API server {why}: polled"


@pytest.mark.parametrize(
    ("verb", "fault"),
    [
        ("list", refuse(429, "TooManyRequests")),
        ("watch", refuse(429, "TooManyRequests")),
        ("list", refuse(503, "ServiceUnavailable")),
        ("watch", refuse(503, "ServiceUnavailable")),
        ("list", stream(abort=True)),
    ],
    ids=["list 429", "watch 429", "list 503", "watch 503", "list lost"],
)
async def test_what_passes_is_not_told_as_a_right_that_is_missing(
    api: FakeApi, verb: str, fault: Any
) -> None:
    faults = api.list_faults if verb == "list" else api.watch_faults
    faults += [fault] * 1000
    async with observer(api, sync_timeout=0.01) as seen:
        await seen.watch(WIDGET)
        await until(lambda: "cannot be watched now" in seen.why_unwatched(WIDGET))
        assert "right" not in seen.why_unwatched(WIDGET)
        faults.clear()
        await until(lambda: seen.watched(WIDGET))
        assert seen.why_unwatched(WIDGET) == ""


async def test_a_refused_kind_is_watched_once_it_may_be(api: FakeApi) -> None:
    api.list_faults.extend(refuse(403, "Forbidden") for _ in range(3))
    watched: list[Resource] = []
    async with (
        observer(api, on_watched=watched.append, refusal_ttl=0.01) as seen,
        asyncio.TaskGroup() as group,
    ):
        await seen.watch_all([WIDGET, WIDGET])
        assert not seen.watched(WIDGET)
        asking = group.create_task(seen.keep_watching([WIDGET]))
        await until(lambda: watched)
        asking.cancel()
        assert seen.watched(WIDGET)
    assert len(api.lists) == 4


async def test_what_the_api_server_says_is_cut(api: FakeApi) -> None:
    async def talkative(request: web.Request) -> web.StreamResponse:
        body = {"kind": "Status", "status": "Failure", "message": "x" * 5000, "code": 403}
        return web.json_response(body, status=403)

    api.list_faults.append(talkative)
    async with observer(api) as seen:
        assert not await seen.watch(WIDGET)
        why = seen.why_unwatched(WIDGET)
    assert "x ...); grant" in why
    assert why.count("x") < 200


async def test_a_right_that_is_taken_away_is_told(api: FakeApi) -> None:
    async with observer(api) as seen:
        assert await seen.watch(WIDGET)
        await until(lambda: api.watchers)
        api.watch_faults.append(refuse(403, "Forbidden", **{"Retry-After": "60"}))
        api.end_watches()
        await until(lambda: not seen.watched(WIDGET))
        assert "may not be watched (no (403 Forbidden))" in seen.why_unwatched(WIDGET)
        assert not await seen.watch(WIDGET)
    assert len(api.lists) == 1


async def test_a_kind_is_not_watched_before_the_api_server_accepts_the_watch(
    api: FakeApi,
) -> None:
    """The right to list may be there, and that to watch not."""
    api.put("a", labels=OURS)
    api.watch_faults.append(refuse(403, "Forbidden"))
    watched: list[Resource] = []
    async with observer(api, on_watched=watched.append) as seen:
        assert not await seen.watch(WIDGET)
        assert not seen.sees(WIDGET, "ns", "a", ME)
    assert watched == []


async def test_a_watch_that_cannot_be_opened_is_told_and_retried(api: FakeApi) -> None:
    api.put("a", labels=OURS)
    mended = False

    async def failing(request: web.Request) -> web.StreamResponse:
        if not mended:
            api.watch_faults.append(failing)
        return await refuse(500, "InternalError")(request)

    async with observer(api) as seen:
        assert await seen.watch(WIDGET)
        await until(lambda: api.watchers)
        api.watch_faults.append(failing)
        api.end_watches()
        await until(lambda: not seen.sees(WIDGET, "ns", "a", ME))
        why = seen.why_unwatched(WIDGET)
        assert (
            why
            == "the watch of widgets.example.dev is interrupted (no (500 InternalError)): polled"
        )
        mended = True
        # The server has the watch before the observer has the answer.
        await until(lambda: api.watchers and seen.sees(WIDGET, "ns", "a", ME))
        assert seen.why_unwatched(WIDGET) == ""


def written(obj: JsonObject, version: int, *, by: str = "kudo", **metadata: Any) -> JsonObject:
    """Return an object as the API server answers to a write."""
    fields = {"resourceVersion": str(version), "managedFields": [{"manager": by}], **metadata}
    return {**obj, "metadata": {**obj["metadata"], **fields}}


def made_by_us(version: int, **metadata: Any) -> JsonObject:
    obj = {"apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"note": ""}}
    fields = {"name": "new", "namespace": "ns", "uid": "new", "labels": OURS, **metadata}
    return written({**obj, "metadata": fields}, version)


def write(seen: Observer, answer: JsonObject, *, after: JsonObject | None, by: Key = ME) -> None:
    metadata = answer["metadata"]
    with seen.writing(WIDGET, metadata["namespace"], metadata["name"], by) as sent:
        sent.answered(answer, after=after)


async def test_what_we_created_or_applied_wakes_nobody(api: FakeApi) -> None:
    woken: list[Key] = []
    async with observer(api, woken) as seen:
        await seen.watch(WIDGET)
        created = made_by_us(100)
        write(seen, created, after=None)
        write(seen, written(created, 101), after=created)
        async with Client(api.config) as client:
            cached = await seen.current(WIDGET, "ns", "new", client=client)
    assert cached is not None
    assert cached["metadata"]["resourceVersion"] == "101"
    assert woken == []


async def test_the_event_of_a_write_that_comes_before_its_answer_wakes_nobody(
    api: FakeApi,
) -> None:
    woken: list[Key] = []
    async with observer(api, woken) as seen:
        await seen.watch(WIDGET)
        await until(lambda: api.watchers)
        with seen.writing(WIDGET, "ns", "a", ME) as sent:
            created = written(api.put("a", labels=OURS), api.version)
            await until(lambda: seen.sees(WIDGET, "ns", "a", ME))
            sent.answered(created, after=None)
        assert woken == []
        with seen.writing(WIDGET, "ns", "a", ME) as sent:
            theirs = api.put("a", labels=OURS, note="of somebody")
            await until(lambda: reached(seen.informers()[0]) == api.version)
            sent.answered(written(api.put("a", labels=OURS), api.version), after=theirs)
    assert {*woken} == {ME}


async def test_who_shares_an_object_is_woken_by_a_write(api: FakeApi) -> None:
    woken: list[Key] = []
    theirs = {**OURS, "kudo.dev/instance": "other"}
    before = api.put("a", labels=theirs)
    async with observer(api, woken) as seen:
        await seen.watch(WIDGET)
        woken.clear()
        write(seen, written(before, 100, labels=OURS), after=before)
    assert woken == [OTHER]


async def test_an_answer_that_brings_more_than_was_written_wakes_its_author(api: FakeApi) -> None:
    """Version 101 came before the write, and its event is still to come: it will be old."""
    woken: list[Key] = []
    async with observer(api, woken) as seen:
        await seen.watch(WIDGET)
        created = made_by_us(100)
        write(seen, created, after=None)
        write(seen, written(created, 102), after=written(created, 101))
        assert woken == [ME]
        write(seen, written(created, 103), after=written(created, 102))
    assert woken == [ME]


async def test_what_others_add_to_an_object_that_we_create_wakes_nobody(api: FakeApi) -> None:
    """Such as an admission webhook that has a field manager of its own."""
    woken: list[Key] = []
    async with observer(api, woken) as seen:
        await seen.watch(WIDGET)
        write(seen, written(made_by_us(100), 100, by="somebody"), after=None)
    assert woken == []


async def test_what_was_read_wakes_all_whom_it_concerns(api: FakeApi) -> None:
    woken: list[Key] = []
    before = api.put("a", labels=OURS)
    async with observer(api, woken) as seen:
        await seen.watch(WIDGET)
        woken.clear()
        seen.read(WIDGET, before)
        assert woken == []
        seen.read(WIDGET, written(before, 100))
    assert woken == [ME]


async def test_a_kind_that_the_rules_exclude_is_never_requested(api: FakeApi) -> None:
    api.put("a", labels=OURS)
    async with observer(api, may_watch=lambda kind: kind != WIDGET) as seen:
        assert not await seen.watch(WIDGET)
        await seen.watch_all([WIDGET])
        assert (seen.watched(WIDGET), seen.is_late(WIDGET)) == (False, False)
        assert not seen.lacks(WIDGET, "ns", "a")
        assert seen.why_unwatched(WIDGET) == (
            "widgets.example.dev are not among the kinds that are watched: polled"
        )
        assert (api.lists, api.watches) == ([], [])
