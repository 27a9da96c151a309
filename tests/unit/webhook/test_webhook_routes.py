"""The web application by itself: its routes, its bounds, what it reads and what it keeps."""

import asyncio
import gc
import http.cookies
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

import orjson
import pytest
from fastapi import FastAPI

from kudo.api import JsonObject
from kudo_webhook.app import HANDLERS
from kudo_webhook.metrics import Metrics
from kudo_webhook.middleware import LIMIT, Exchange
from kudo_webhook.reviewing import Seen
from kudo_webhook.routes import ORIGINAL_PATH, Admission, build_app
from serving.probes import Scope
from tests.unit.webhook.harness import (
    MUTATE,
    VALIDATE,
    DictVersions,
    first_operator,
    instance,
    review,
)
from workers import Pool

PATHS = (MUTATE, VALIDATE, ORIGINAL_PATH)
BODY = orjson.dumps(review(instance()))


@dataclass
class Asked:
    """The application, and what one client of it was sent.

    Attributes:
        taken: Whether the client takes what it is sent.
        scope: Of the last request.
    """

    versions: DictVersions = field(default_factory=first_operator)
    deadline: float = 60.0
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Scope] = field(default_factory=list)
    scope: Scope = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.taken.set()
        self.metrics = Metrics(("mutate", "validate"), lambda: 0.0)
        self.app = self._app()

    def _app(self) -> FastAPI:
        pool = Pool(HANDLERS)
        return build_app(
            Admission(
                self.versions, pool, self.metrics, deadline=self.deadline, fresh_uid=lambda: "uid"
            )
        )

    async def ask(
        self,
        path: str = MUTATE,
        *,
        method: str = "POST",
        headers: Iterable[tuple[bytes, bytes]] = (),
        messages: Iterable[Scope] = ({"type": "http.request", "body": BODY},),
    ) -> tuple[int, JsonObject]:
        """Return status and body of the answer; after its messages the client sends no more."""
        self.sent.clear()
        scope: Scope = {"type": "http", "method": method, "path": path, "headers": [*headers]}
        scope["query_string"] = b"a=b"
        self.scope = scope
        waiting = iter(messages)

        async def receive() -> Scope:
            for message in waiting:
                return message
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Scope) -> None:
            await self.taken.wait()
            self.sent.append(message)

        await self.app(scope, receive, send)
        start, body = self.sent
        return start["status"], orjson.loads(body["body"])

    def counted(self) -> dict[tuple[str, str, str], float]:
        """Return how many requests ended in each way: route, outcome and reason."""
        return {
            (
                sample.labels["route"],
                sample.labels["outcome"],
                sample.labels["reason"],
            ): sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == "kudo_admission_requests_total"
        }


@contextmanager
def files_that_run() -> Iterator[set[str]]:
    """Collect the source files of every Python function that is called."""
    found: set[str] = set()

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("path", PATHS)
async def test_cookies_and_queries_are_not_parsed(path: str) -> None:
    asked = Asked()
    cookie = b'a="' + b'\\"' * 100 + b'"'
    with files_that_run() as files:
        await asked.ask(path, headers=[(b"cookie", cookie)])
    assert build_app.__code__.co_filename in files
    assert http.cookies.__file__ not in files
    assert not [name for name in files if name.endswith("urllib/parse.py")]


@pytest.mark.parametrize(
    ("path", "method", "status", "text"),
    [
        ("/", "POST", 404, "Not Found"),
        (MUTATE + "/", "POST", 404, "Not Found"),
        *((path, "GET", 405, "Method Not Allowed") for path in PATHS),
        *((path, "OPTIONS", 405, "Method Not Allowed") for path in PATHS),
    ],
)
async def test_what_reaches_no_route_is_told_so_and_not_counted(
    path: str, method: str, status: int, text: str
) -> None:
    asked = Asked()
    announced = [(b"content-length", b"%d" % (LIMIT + 1))]
    answer = await asked.ask(path, method=method, headers=announced, messages=())
    assert answer == (status, {"detail": text})
    assert asked.counted() == {}
    assert asked.metrics.in_flight == 0


async def test_an_answer_is_counted_once_and_before_its_client_takes_it() -> None:
    asked = Asked()
    asked.taken.clear()
    task = asyncio.create_task(asked.ask())
    async with asyncio.timeout(30):
        while not asked.counted():  # noqa: ASYNC110 - a counter sets no event
            await asyncio.sleep(0)
    assert asked.sent == []
    assert asked.metrics.in_flight == 0
    asked.taken.set()
    assert (await task)[0] == 200
    assert asked.counted() == {("mutate", "allowed", ""): 1}


async def test_the_deadline_does_not_end_an_answer_that_its_client_takes_late() -> None:
    asked = Asked(deadline=0.05)
    asked.taken.clear()
    asyncio.get_running_loop().call_later(0.2, asked.taken.set)
    status, answer = await asked.ask()
    assert (status, answer["response"]["allowed"]) == (200, True)


async def test_a_request_that_waits_is_ended_by_the_deadline_from_its_first_step_on() -> None:
    asked = Asked(deadline=0.05)
    status, answer = await asked.ask(messages=())
    assert (status, answer["reason"]) == (408, "RequestTimeout")
    assert asked.counted() == {("mutate", "error", "RequestTimeout"): 1}


async def test_a_request_that_waits_is_ended_with_its_task() -> None:
    asked = Asked()
    task = asyncio.create_task(asked.ask(messages=()))
    async with asyncio.timeout(30):
        while not asked.metrics.in_flight:  # noqa: ASYNC110 - a counter sets no event
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asked.metrics.in_flight == 0
    assert asked.sent == []


async def test_an_announced_body_over_the_limit_is_not_read() -> None:
    asked = Asked()
    headers = [(b"content-length", b"%d" % (LIMIT + 1))]
    status, answer = await asked.ask(headers=headers, messages=())
    assert (status, answer["reason"]) == (413, "RequestEntityTooLarge")
    assert asked.counted() == {("mutate", "limited", "RequestEntityTooLarge"): 1}


@pytest.mark.parametrize("body", [BODY, b"[]"])
async def test_what_was_read_of_a_request_goes_with_its_answer(body: bytes) -> None:
    # uvicorn keeps the scope of a connection until its next request, and an idle connection may
    # stay for minutes.
    asked = Asked()
    await asked.ask(messages=[{"type": "http.request", "body": body}])
    assert asked.scope
    held = [one for value in asked.scope.values() for one in gc.get_referents(value)]
    kinds = {type(one) for one in [*asked.scope.values(), *held]}
    assert not kinds & {Exchange, Seen}


PART: Scope = {"type": "http.request", "body": b" " * (64 << 10), "more_body": True}
ENDS: tuple[tuple[int, tuple[Scope, ...]], ...] = (
    (413, (PART,) * (LIMIT // len(PART["body"]) + 1)),
    (400, (PART, {"type": "http.disconnect"})),
    (400, (PART, {"type": "http.request", "body": b""})),
    (408, (PART,)),
)


@pytest.mark.parametrize(("status", "messages"), ENDS)
async def test_a_body_is_freed_with_its_answer_and_not_by_the_garbage_collector(
    status: int, messages: tuple[Scope, ...]
) -> None:
    # Collections are rare in a service: what waits for one counts for no limit of the port.
    asked = Asked(deadline=0.1 if status == 408 else 60.0)
    await asked.ask("/")
    gc.collect()
    gc.disable()
    try:
        found = await asked.ask(messages=messages)
        assert found[0] == status
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kept = [one for one in gc.garbage for part in gc.get_referents(one) if part == PART["body"]]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert kept == []
