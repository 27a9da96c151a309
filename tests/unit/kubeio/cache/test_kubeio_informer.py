"""An informer against an API server that ends, breaks, forgets, lies and refuses."""

import asyncio
import functools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Phase, StaleList, Timing
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import ConnectionLost, Forbidden, Gone, KubeError, NotFound, ServerError
from kubeio.types import JsonObject
from tests.support.informers import reached
from tests.unit.kubeio.cache.watched import Watched, running, truth
from tests.unit.kubeio.fake_api import (
    WIDGET,
    FakeApi,
    error_event,
    refuse,
    status_body,
    stream,
    until,
)


async def test_it_lists_then_watches(api: FakeApi, client: Client) -> None:
    api.put("a")
    async with running(client) as seen:
        api.put("b")
        api.put("a", note="new")
        api.delete("b")
        await until(lambda: len(seen.changes) == 4)
        assert seen.informer.get("ns", "a") is seen.informer.list()[0]
        assert seen.informer.get("ns", "b") is None
        assert len(seen.informer) == 1
    assert seen.told == [("added", "a"), ("added", "b"), ("updated", "a"), ("deleted", "b")]
    assert len(api.lists) == 1
    assert reached(seen.informer) == api.version


async def test_lists_are_consistent_paged_reads(api: FakeApi, client: Client) -> None:
    for number in range(7):
        api.put(f"w{number}")
    async with running(client, page_size=3, label_selector="a=b") as seen:
        assert seen.versions() == truth(api)
    assert [one.query.get("limit") for one in api.lists] == ["3", "3", "3"]
    assert all("resourceVersion" not in one.query for one in api.lists)
    assert all(one.query["labelSelector"] == "a=b" for one in api.seen)


async def test_the_length_of_watches_is_drawn_at_random(api: FakeApi, client: Client) -> None:
    async with running(client, rng=random.Random(7)):
        await until(lambda: api.watchers)
        for _ in range(3):
            count = len(api.watches)
            api.bookmark()
            api.end_watches()
            await until(functools.partial(watching_again, api, count))
    lengths = [int(one.query["timeoutSeconds"]) for one in api.watches]
    assert all(240 <= length <= 480 for length in lengths)
    assert len(set(lengths)) > 1


def watching_again(api: FakeApi, count: int) -> bool:
    return len(api.watches) > count and bool(api.watchers)


async def test_it_goes_on_from_the_last_version_when_a_watch_ends(
    api: FakeApi, client: Client
) -> None:
    async with running(client) as seen:
        await until(lambda: api.watchers)
        api.put("a")
        api.bookmark()
        api.end_watches()
        await until(lambda: len(api.watches) == 2)
        api.put("b")
        await until(lambda: len(seen.changes) == 2)
    assert len(api.lists) == 1
    assert api.watches[1].query["resourceVersion"] == "11"


async def test_a_bookmark_moves_the_point_to_go_on_from(api: FakeApi, client: Client) -> None:
    async with running(client) as seen:
        await until(lambda: api.watchers)
        api.version = 500
        api.bookmark()
        await until(lambda: reached(seen.informer) == 500)
        api.end_watches()
        await until(lambda: len(api.watches) == 2)
    assert api.watches[1].query["resourceVersion"] == "500"
    assert seen.changes == []


async def test_an_expired_version_leads_to_a_new_list(api: FakeApi, client: Client) -> None:
    api.put("a")
    api.put("b")
    async with running(client) as seen:
        await until(lambda: api.watchers)
        api.silent = True
        api.delete("a")
        api.put("c")
        api.put("b", note="new")
        api.compact()
        api.end_watches()
        await until(lambda: seen.versions() == truth(api))
    assert seen.told[2:] == [("updated", "b"), ("added", "c"), ("deleted", "a")]
    assert len(api.lists) == 2


async def test_a_gone_event_in_the_stream_leads_to_a_new_list(api: FakeApi, client: Client) -> None:
    api.watch_faults.append(stream(error_event(410, "Expired")))
    async with running(client) as seen:
        await until(lambda: api.watchers)
    assert len(api.lists) == 2
    assert seen.errors == [Gone]


@pytest.mark.parametrize(
    "fault",
    [
        stream(b'{"type":"ADDED","obj'),
        stream(abort=True),
    ],
)
async def test_a_broken_watch_goes_on_without_a_new_list(
    api: FakeApi, client: Client, fault: Any
) -> None:
    api.watch_faults.append(fault)
    async with running(client) as seen:
        await until(lambda: api.watchers)
        api.put("a")
        await until(lambda: seen.changes)
    assert len(api.lists) == 1
    assert seen.errors == [ConnectionLost]
    assert [one.query["resourceVersion"] for one in api.watches] == ["10", "10"]


async def test_what_came_before_a_break_counts(api: FakeApi, client: Client) -> None:
    api.put("a")
    line = api.log[0][1]
    api.objects.clear()
    api.log.clear()
    api.version = 10
    api.watch_faults.append(stream(line, b'{"type":"ADDED","obj'))
    async with running(client) as seen:
        api.version = 11
        await until(lambda: len(api.watches) == 2)
    assert seen.told == [("added", "a")]
    assert api.watches[1].query["resourceVersion"] == "11"


async def test_a_silent_watch_is_given_up(api: FakeApi, client: Client) -> None:
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "44"}}}
    api.watch_faults += [stream(orjson.dumps(bookmark) + b"\n", hang=True)]
    timing = Timing(idle=0.05, backoff=(0.01, 0.05))
    async with running(client, timing=timing) as seen:
        api.version = 44
        await until(lambda: len(api.watches) == 2)
    assert seen.errors[:1] == [ConnectionLost]
    assert api.watches[1].query["resourceVersion"] == "44"


async def test_quiet_hours_do_not_make_it_slow(api: FakeApi, client: Client) -> None:
    delays: list[float] = []

    async def sleep(delay: float) -> None:
        delays.append(delay)

    api.version = 44
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "44"}}}
    api.watch_faults += [stream(orjson.dumps(bookmark) + b"\n", hang=True)]
    api.watch_faults += [stream(hang=True) for _ in range(8)]
    timing = Timing(idle=0.05, steady=0.01, backoff=(1.0, 60.0))
    async with running(client, timing=timing, sleep=sleep):
        await until(lambda: len(api.watches) == 10)
    # Each watch lasted, so each delay is a first one.
    assert len(delays) == 9
    assert max(delays) <= 1.0


async def test_what_a_silent_watch_kept_back_is_made_up_for_without_a_list(
    api: FakeApi, client: Client
) -> None:
    api.put("a")
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "11"}}}
    api.watch_faults += [stream(orjson.dumps(bookmark) + b"\n", hang=True)]
    timing = Timing(idle=0.1, backoff=(0.01, 0.05))
    async with running(client, timing=timing) as seen:
        await until(lambda: seen.informer._reflector._bookmarks)
        api.put("b")
        api.put("a", note="new")
        api.delete("b")
        await until(lambda: len(seen.changes) == 4)
    assert seen.told[1:] == [("added", "b"), ("updated", "a"), ("deleted", "b")]
    assert seen.errors[:1] == [ConnectionLost]
    assert len(api.lists) == 1


async def test_what_was_lost_with_a_silent_watch_is_found_by_a_list(
    api: FakeApi, client: Client
) -> None:
    api.put("a")
    api.put("b")
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}}
    api.watch_faults += [stream(orjson.dumps(bookmark) + b"\n", hang=True)]
    timing = Timing(idle=0.1, backoff=(0.01, 0.05))
    async with running(client, timing=timing) as seen:
        await until(lambda: seen.informer._reflector._bookmarks)
        api.delete("b")
        api.put("a", note="new")
        api.compact()
        await until(lambda: seen.versions() == truth(api))
    assert seen.told[2:] == [("updated", "a"), ("deleted", "b")]
    assert seen.errors[:2] == [ConnectionLost, Gone]


async def test_a_list_that_is_stale_for_once_changes_nothing(api: FakeApi, client: Client) -> None:
    api.put("a")
    stale = {"kind": "WidgetList", "metadata": {"resourceVersion": "3"}, "items": []}

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(stale)

    now = [0.0]
    async with running(client, clock=lambda: now[0]) as seen:
        await until(lambda: api.watchers)
        now[0] += 500.0  # the watch ends at its time
        api.list_faults.append(answer)
        api.watch_faults.append(refuse(410, "Expired"))
        api.end_watches()
        await until(lambda: len(api.lists) == 3 and api.watchers)
        assert seen.versions() == truth(api)
    assert seen.told == [("added", "a")]
    assert seen.errors == [Gone, StaleList]


async def test_silence_is_no_error_where_no_bookmarks_are_sent(
    api: FakeApi, client: Client
) -> None:
    timing = Timing(idle=0.05, steady=0.01)
    async with running(client, timing=timing) as seen:
        await until(lambda: len(api.watches) == 3)
    assert seen.errors == []
    assert len(api.lists) == 1


async def test_a_server_that_ends_watches_at_once_is_not_hammered(
    api: FakeApi, client: Client
) -> None:
    delays: list[float] = []

    async def sleep(delay: float) -> None:
        delays.append(delay)

    api.watch_faults += [stream() for _ in range(6)]
    timing = Timing(backoff=(1.0, 8.0))
    async with running(client, timing=timing, sleep=sleep, rng=random.Random(5)):
        await until(lambda: api.watchers)
    assert len(delays) == 6
    assert max(delays) > 1.0
    assert len(api.lists) == 1


@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_a_watch_that_is_refused_for_now_forces_no_list(
    api: FakeApi, client: Client, code: int
) -> None:
    """Lists of all objects are the last thing that a server in trouble needs."""
    api.watch_faults += [refuse(code, "x") for _ in range(4)]
    api.watch_faults += [stream(error_event(code, "x")) for _ in range(4)]
    async with running(client) as seen:
        await until(lambda: api.watchers)
        api.put("a")
        await until(lambda: seen.changes)
    assert len(seen.errors) == 8
    assert len(api.lists) == 1


TOO_LARGE: JsonObject = {
    "message": "Too large resource version: 90, current: 20",
    "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "x"}]},
}

UNREADABLE: JsonObject = {"message": 'resourceVersion: Invalid value: "a": strconv.ParseUint: x'}


@pytest.mark.parametrize(
    ("code", "more"), [(410, {}), (504, TOO_LARGE), (400, {}), (422, {}), (500, UNREADABLE)]
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_version_that_the_server_cannot_use_leads_to_a_new_list(
    api: FakeApi, client: Client, code: int, more: JsonObject, streamed: bool
) -> None:
    body = status_body(code, "x", **more)

    async def refused(request: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=code)

    event = orjson.dumps({"type": "ERROR", "object": body}) + b"\n"
    api.watch_faults.append(stream(event) if streamed else refused)
    async with running(client):
        await until(lambda: api.watchers)
    assert len(api.lists) == 2


async def test_what_the_server_asks_for_is_waited(api: FakeApi, client: Client) -> None:
    delays: list[float] = []

    async def sleep(delay: float) -> None:
        delays.append(delay)

    api.list_faults.append(refuse(429, "TooManyRequests", **{"Retry-After": "17"}))
    api.list_faults.append(refuse(429, "TooManyRequests", **{"Retry-After": "86400"}))
    async with running(client, sleep=sleep):
        pass
    assert 17.0 <= delays[0] <= 17.01
    assert 60.0 <= delays[1] <= 60.02


async def test_a_list_that_fails_is_tried_again_and_reported(api: FakeApi, client: Client) -> None:
    api.list_faults += [refuse(403, "Forbidden"), refuse(500, "InternalError")]
    async with running(client) as seen:
        assert seen.informer.error is None
    assert seen.errors == [Forbidden, ServerError]
    phases = [one.phase for one in seen.statuses]
    assert phases[:3] == [Phase.LISTING, Phase.WAITING, Phase.LISTING]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(refuse(403, "Forbidden"), Forbidden), (refuse(404, "NotFound"), NotFound)],
)
async def test_a_refused_list_is_raised_at_once_to_who_wants_it(
    api: FakeApi, client: Client, fault: Any, expected: type[KubeError]
) -> None:
    api.list_faults += [fault] * 100
    async with running(client, synced=False) as seen:
        with pytest.raises(expected):
            await seen.informer.wait_synced(5, fail_fast=True)
        with pytest.raises(expected):
            await seen.informer.wait_synced(0.05)
        assert not seen.informer.has_synced


async def test_waiting_without_any_answer_ends_in_a_timeout(api: FakeApi, client: Client) -> None:
    informer = Informer(client, WIDGET)
    with pytest.raises(ConnectionLost, match="did not sync") as lost:
        await informer.wait_synced(0.01)
    assert lost.value.timeout


async def test_a_list_older_than_what_was_seen_is_not_believed_at_first(
    api: FakeApi, client: Client
) -> None:
    api.version = 100
    api.put("a")
    now = [0.0]
    async with running(client, clock=lambda: now[0]) as seen:
        await until(lambda: api.watchers)
        now[0] += 500.0  # the watch ends at its time
        restored = {**api.objects["a"]}
        restored["metadata"] = {**restored["metadata"], "resourceVersion": "40"}
        api.objects["a"] = restored
        api.version = 50
        api.log.clear()
        api.watch_faults.append(refuse(410, "Expired"))
        api.end_watches()
        await until(lambda: reached(seen.informer) == 50)
        assert seen.versions() == {"a": "40"}
    assert seen.errors == [Gone, StaleList, StaleList]


@asynccontextmanager
async def restored(api: FakeApi, client: Client, **options: Any) -> AsyncIterator[Watched]:
    """Run an informer that saw more than the API server knows after its restore."""
    api.put("a")
    async with running(client, **options) as seen:
        await until(lambda: api.watchers)
        kept = dict(api.objects)
        api.put("a", note="lost")
        api.put("lost")
        for number in range(20):
            api.put(f"w{number}")
        await until(lambda: seen.versions() == truth(api))
        version, api.objects["a"] = int(kept["a"]["metadata"]["resourceVersion"]), kept["a"]
        api.restore(version, "a")
        yield seen


@pytest.mark.parametrize("end", ["in order", "broken", "refused"])
async def test_after_a_restore_of_etcd_a_watch_that_ends_shows_the_truth_again(
    api: FakeApi, client: Client, end: str
) -> None:
    async with restored(api, client) as seen:
        if end == "broken":
            api.watch_faults.append(stream(abort=True))
        elif end == "refused":
            api.watch_faults += [refuse(503, "ServiceUnavailable") for _ in range(2)]
        api.end_watches()
        await until(lambda: seen.versions() == truth(api))
        await until(lambda: api.watchers)
        api.put("a", note="new")
        api.put("b")
        await until(lambda: seen.versions() == truth(api))
        assert reached(seen.informer) == api.version
        assert seen.informer.observe(api.put("a", note="mine"))


async def test_after_a_restore_of_etcd_a_watch_that_stays_silent_shows_the_truth_again(
    api: FakeApi, client: Client
) -> None:
    """A watch that begins in the future is accepted, and sends neither events nor bookmarks."""
    async with restored(api, client, timing=Timing(idle=0.1, backoff=(0.01, 0.05))) as seen:
        api.put("b")
        await until(lambda: seen.versions() == truth(api))


async def test_a_bookmark_of_an_earlier_version_leads_to_a_new_list(
    api: FakeApi, client: Client
) -> None:
    async with restored(api, client) as seen:
        line = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(api.version)}}}
        api.watchers[0].put_nowait(orjson.dumps(line) + b"\n")
        await until(lambda: seen.versions() == truth(api))


async def test_a_restore_is_logged(
    api: FakeApi, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with restored(api, client) as seen:
        api.end_watches()
        await until(lambda: seen.versions() == truth(api))
    assert (
        "listing widgets.example.dev again: the API server is at resourceVersion 11, but 33 was "
        "seen before; etcd may have been restored from a backup" in caplog.messages
    )


async def test_a_watch_that_ends_before_its_time_is_compared_and_goes_on(
    api: FakeApi, client: Client
) -> None:
    """By one request for one object's metadata, whatever it is."""
    api.put("a")
    options: dict[str, Any] = {"label_selector": "b=c", "namespace": None}
    async with running(client, **options) as seen:
        await until(lambda: api.watchers)
        api.end_watches()
        await until(lambda: len(api.watches) == 2 and api.watchers)
        api.put("b")
        await until(lambda: len(seen.changes) == 2)
    [check] = api.checks
    assert check.query == {"limit": "1"}
    assert "PartialObjectMetadata" in check.headers["Accept"]
    assert len(api.lists) == 1


async def test_a_watch_that_ends_at_its_time_is_not_compared(api: FakeApi, client: Client) -> None:
    now = [0.0]
    async with running(client, clock=lambda: now[0]):
        await until(lambda: api.watchers)
        now[0] += 500.0
        api.end_watches()
        await until(lambda: len(api.watches) == 2)
    assert api.checks == []


async def test_a_version_that_cannot_be_compared_is_told(api: FakeApi, client: Client) -> None:
    api.put("a")
    async with running(client) as seen:
        await until(lambda: api.watchers)
        api.list_faults += [refuse(403, "Forbidden"), refuse(500, "InternalError")]
        api.end_watches()
        await until(lambda: len(api.watches) == 2)
    assert seen.errors == [Forbidden, ServerError]
    assert len(api.lists) == 1


async def test_metadata_only_keeps_no_more_than_metadata(api: FakeApi, client: Client) -> None:
    api.put("a", note="big")
    async with running(client, metadata_only=True) as seen:
        api.put("b", note="big")
        await until(lambda: len(seen.changes) == 2)
        assert all(obj.keys() == {"apiVersion", "kind", "metadata"} for obj in seen.informer.list())
    assert all("PartialObjectMetadata" in one.headers["Accept"] for one in api.seen)


async def test_metadata_only_and_transform_go_together(api: FakeApi, client: Client) -> None:
    api.put("a")
    options: dict[str, Any] = {
        "metadata_only": True,
        "transform": lambda obj: {**obj, "kind": "Small"},
    }
    async with running(client, **options) as seen:
        assert seen.informer.list()[0]["kind"] == "Small"


async def test_indexes_answer_by_key(api: FakeApi, client: Client) -> None:
    api.put("a", note="x")
    api.put("b", note="y")
    indexers = {"note": lambda obj: [obj["spec"]["note"]]}
    async with running(client, indexers=indexers) as seen:
        [found] = seen.informer.by_index("note", "x")
    assert found["metadata"]["name"] == "a"


async def test_a_late_handler_is_told_what_is_there(api: FakeApi, client: Client) -> None:
    api.put("a")
    late: list[Delta] = []
    async with running(client) as seen:
        seen.informer.add_handler(late.append)
        api.put("b")
        await until(lambda: len(late) == 2)
    assert [(one.kind, one.object["metadata"]["name"]) for one in late] == [
        ("added", "a"),
        ("added", "b"),
    ]


async def test_handlers_are_called_in_the_order_they_were_added(
    api: FakeApi, client: Client
) -> None:
    order: list[int] = []
    async with running(client) as seen:
        seen.informer.add_handler(lambda _: order.append(1))
        seen.informer.add_handler(lambda _: order.append(2))
        api.put("a")
        await until(lambda: len(order) == 2)
    assert order == [1, 2]


async def test_an_own_write_is_there_before_its_event(api: FakeApi, client: Client) -> None:
    api.put("a")
    async with running(client) as seen:
        await until(lambda: api.watchers)
        api.silent = True
        answer = api.put("a", note="mine")
        assert seen.informer.observe(answer)
        assert seen.versions() == truth(api)
        api.silent = False
        api._send(api.log[-1][1])
        api.bookmark()
        await until(lambda: reached(seen.informer) == api.version)
        assert not seen.informer.observe(answer)
    assert seen.told == [("added", "a"), ("updated", "a")]


async def test_own_writes_outside_the_scope_are_left_alone(api: FakeApi, client: Client) -> None:
    async with running(client, label_selector="heritage=kudo", synced=False) as seen:
        assert not seen.informer.observe(api.put("a"))
        assert seen.informer.observe(api.put("b", labels={"heritage": "kudo"}))
    elsewhere = Informer(client, WIDGET, namespace="other")
    assert not elsewhere.observe(api.put("a"))


async def test_what_a_read_did_not_find_is_gone_whatever_held_it(
    api: FakeApi, client: Client
) -> None:
    held = api.put("a")
    held["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}
    async with running(client) as seen:
        api.silent = True
        assert seen.informer.observe(api.put("a"))
        assert seen.informer.observe_gone("ns", "a")
        assert not seen.informer.observe_gone("ns", "a")
        assert not seen.informer.observe_gone("ns", "never-there")
        assert seen.informer.get("ns", "a") is None
    assert seen.told[-1] == ("deleted", "a")


async def test_last_contact_is_the_time_of_the_last_sign_of_life(
    api: FakeApi, client: Client
) -> None:
    now = [5.0]
    async with running(client, clock=lambda: now[0]) as seen:
        assert seen.informer.last_contact == 5.0
        await until(lambda: api.watchers)
        now[0] = 65.0
        api.bookmark()
        await until(lambda: seen.informer.last_contact == 65.0)
    assert Informer(client, WIDGET).last_contact is None


async def test_what_a_handler_raises_ends_the_informer(api: FakeApi, client: Client) -> None:
    def fail(delta: Delta) -> None:
        raise LookupError(delta.kind)

    informer = Informer(client, WIDGET)
    informer.add_handler(fail)
    api.put("a")
    with pytest.raises(LookupError):
        await informer.run()


async def test_cancelling_it_closes_its_connection(api: FakeApi, client: Client) -> None:
    async with running(client):
        await until(lambda: api.watchers)
    await until(lambda: not api.watchers)


async def test_it_survives_a_server_that_comes_and_goes(api: FakeApi, client: Client) -> None:
    """Random faults for a while; in the end the copy is the truth, and the changes explain it."""
    rng = random.Random(20)
    faults = [
        refuse(410, "Expired"),
        refuse(500, "InternalError"),
        refuse(429, "TooManyRequests"),
        stream(error_event(410, "Expired")),
        stream(b"garbage\n"),
        stream(abort=True),
        stream(),
    ]
    timing = Timing(backoff=(0.001, 0.005))
    async with running(client, timing=timing, page_size=3) as seen:
        for _ in range(300):
            match rng.randrange(6):
                case 0 if api.objects:
                    gone = api.delete(rng.choice(sorted(api.objects)))
                    seen.informer.observe_gone("ns", gone["metadata"]["name"])
                case 1:
                    seen.informer.observe(api.put(f"w{rng.randrange(8)}"))
                case 2:
                    api.watch_faults.append(rng.choice(faults))
                    api.end_watches()
                case 3 if rng.random() < 0.3:
                    api.list_faults.append(rng.choice(faults[:3]))
                case 4 if rng.random() < 0.3:
                    api.compact()
                case _:
                    api.put(f"w{rng.randrange(8)}")
            await asyncio.sleep(rng.choice([0, 0, 0.001]))
        api.watch_faults.clear()
        api.list_faults.clear()
        api.put("end")
        await until(lambda: seen.versions() == truth(api))
        replayed: dict[str, str] = {}
        for delta in seen.changes:
            metadata = delta.object["metadata"]
            replayed.pop(metadata["name"], None)
            if delta.kind != "deleted":
                replayed[metadata["name"]] = metadata["resourceVersion"]
        assert replayed == truth(api)
    assert len(set(seen.errors)) > 2
