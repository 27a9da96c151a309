"""Tokens for /metrics: who is let in, how long answers are believed, and what a flood can do."""

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Coroutine, MutableMapping
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from serving.probes import Probes, asgi_app
from serving.token_gate import LONGEST, Busy, TokenGate, Verdict
from tests.support.loops.virtual_loop import run_virtually
from tests.support.pools import until
from tests.unit.cancelling import cancel_at_each_await


class Reviews:
    """An API server that knows three tokens."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.now = 0.0
        self.at_once = self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.verdicts: dict[str, Verdict] = {"good": "allowed", "weak": "forbidden"}

    async def __call__(self, token: str) -> Verdict:
        self.asked[token] += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await self.gate.wait()
        finally:
            self.at_once -= 1
        if self.error is not None:
            raise self.error
        return self.verdicts.get(token, "unauthenticated")

    def guarding(self) -> TokenGate:
        return TokenGate(self, lambda: self.now)


async def get(
    gate: TokenGate, path: str, *authorization: bytes
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Return status, headers and body."""
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"authorization", one) for one in authorization]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    await asgi_app(Probes(), CollectorRegistry(), gate)(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([b"Bearer good"], 200),
        ([b"bearer  good "], 200),
        ([b"Bearer weak"], 403),
        ([b"Bearer unknown"], 401),
        ([], 401),
        ([b""], 401),
        ([b"Bearer "], 401),
        ([b"Basic good"], 401),
        ([b"good"], 401),
        ([b"Bearer good", b"Bearer good"], 401),
    ],
)
async def test_only_an_allowed_token_reads_metrics(headers: list[bytes], status: int) -> None:
    assert (await get(Reviews().guarding(), "/metrics", *headers))[0] == status


async def test_a_refusal_says_nothing_but_what_is_asked_for() -> None:
    gate = Reviews().guarding()
    _, headers, body = await get(gate, "/metrics", b"Bearer unknown")
    assert (headers[b"www-authenticate"], body) == (b"Bearer", b"unauthorized\n")
    assert (await get(gate, "/metrics", b"Bearer weak"))[2] == b"forbidden\n"


async def test_probes_need_no_token() -> None:
    reviews = Reviews()
    for path in ("/healthz", "/readyz"):
        assert (await get(reviews.guarding(), path))[0] == 200
    assert not reviews.asked


@pytest.mark.parametrize(
    "token", [b"x" * (LONGEST + 1), b"a b", b"caf\xe9", b"\x00", b"a\x7f", b"a\tb"]
)
async def test_what_can_be_no_token_is_not_reviewed(token: bytes) -> None:
    reviews = Reviews()
    assert await reviews.guarding().decide(b"Bearer " + token) == "unauthenticated"
    assert not reviews.asked
    await reviews.guarding().decide(b"Bearer " + b"x" * LONGEST)
    assert reviews.asked


@pytest.mark.parametrize(("token", "seconds"), [("good", 60.0), ("weak", 10.0), ("bad", 10.0)])
async def test_an_answer_is_believed_for_its_time(token: str, seconds: float) -> None:
    reviews = Reviews()
    gate = reviews.guarding()
    header = f"Bearer {token}".encode()
    first = await gate.decide(header)
    reviews.now = seconds - 0.001
    assert await gate.decide(header) == first
    assert reviews.asked[token] == 1
    reviews.now = seconds
    await gate.decide(header)
    assert reviews.asked[token] == 2


async def test_rights_that_were_taken_away_end_with_the_answer() -> None:
    reviews = Reviews()
    gate = reviews.guarding()
    assert await gate.decide(b"Bearer good") == "allowed"
    reviews.verdicts["good"], reviews.now = "forbidden", 60.0
    assert await gate.decide(b"Bearer good") == "forbidden"
    assert await gate.decide(b"Bearer good") == "forbidden"
    reviews.verdicts["good"], reviews.now = "allowed", 70.0
    assert await gate.decide(b"Bearer good") == "allowed"


def test_a_flood_of_tokens_is_reviewed_a_few_at_a_time_and_then_refused() -> None:
    async def flood() -> None:
        reviews = Reviews()
        gate = reviews.guarding()
        reviews.gate.clear()
        calls = [asyncio.create_task(gate.decide(b"Bearer %d" % n)) for n in range(100)]
        # 4 are reviewed for 5 s, 16 wait for 2 s, the others are refused at once.
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(one) for one in outcomes} == {Busy}
        assert reviews.most == 4
        assert reviews.asked.total() == 4
        assert 4.9 < asyncio.get_running_loop().time() < 5.5

    run_virtually(flood())


def test_new_tokens_are_reviewed_at_a_rate() -> None:
    async def one_after_the_other() -> None:
        reviews = Reviews()
        gate, loop = reviews.guarding(), asyncio.get_running_loop()
        began = loop.time()
        for number in range(41):
            await gate.decide(b"Bearer %d" % number)
        assert loop.time() - began == pytest.approx(2.0)

    run_virtually(one_after_the_other())


def test_a_flood_neither_displaces_nor_delays_who_was_allowed() -> None:
    async def beside_a_flood() -> None:
        reviews = Reviews()
        gate, loop = reviews.guarding(), asyncio.get_running_loop()
        assert await gate.decide(b"Bearer good") == "allowed"
        for number in range(300):
            await gate.decide(b"Bearer %d" % number)
        assert await gate.decide(b"Bearer good") == "allowed"
        assert reviews.asked["good"] == 1
        reviews.gate.clear()
        flood = [asyncio.create_task(gate.decide(b"Bearer x%d" % n)) for n in range(20)]
        await until(lambda: reviews.at_once == 4)
        reviews.now = 60.0
        again, before = asyncio.create_task(gate.decide(b"Bearer good")), loop.time()
        await until(lambda: reviews.asked["good"] == 2)
        assert loop.time() - before < 0.1
        reviews.gate.set()
        assert await again == "allowed"
        await asyncio.gather(*flood, return_exceptions=True)

    run_virtually(beside_a_flood())


async def test_requests_with_one_token_cost_one_review() -> None:
    reviews = Reviews()
    gate = reviews.guarding()
    calls = [gate.decide(b"Bearer good") for _ in range(4)]
    assert set(await asyncio.gather(*calls)) == {"allowed"}
    assert reviews.asked["good"] == 1


async def test_without_an_answer_nobody_is_let_in_and_the_token_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reviews = Reviews()
    reviews.error = RuntimeError("POST with secret-token failed")
    gate = reviews.guarding()
    with caplog.at_level(logging.DEBUG):
        for _ in range(2):
            status, headers, _ = await get(gate, "/metrics", b"Bearer secret-token")
            assert (status, headers[b"retry-after"]) == (503, b"1")
    [line] = [one for one in caplog.records if one.name == "serving.token_gate"]
    assert line.__dict__["error"] == "RuntimeError"
    assert "secret-token" not in caplog.text + repr([one.__dict__ for one in caplog.records])


async def test_tokens_are_kept_as_hashes_only() -> None:
    gate = Reviews().guarding()
    await gate.decide(b"Bearer good")
    await gate.decide(b"Bearer weak")
    kept = repr([vars(gate._allowed), vars(gate._refused)])
    assert "good" not in kept
    assert "weak" not in kept


def test_a_request_that_is_cancelled_at_any_await_gives_its_review_back() -> None:
    async def cancelled_behind_others() -> None:
        reviews, tokens, others = Reviews(), itertools.count(), list[asyncio.Task[Verdict]]()
        gate = reviews.guarding()

        def decide() -> Coroutine[Any, Any, Verdict]:
            return gate.decide(b"Bearer %d" % next(tokens))

        async def behind_others() -> None:
            # All places are taken at first, and free a little later.
            others.extend(asyncio.create_task(decide()) for _ in range(4))
            await asyncio.sleep(0)
            await decide()

        async def as_many_as_ever_are_reviewed() -> None:
            await asyncio.gather(*others)
            others.clear()
            await asyncio.sleep(1)
            reviews.gate.clear()
            calls = [asyncio.create_task(decide()) for _ in range(4)]
            await until(lambda: reviews.at_once == 4)
            reviews.gate.set()
            await asyncio.gather(*calls)
            await asyncio.sleep(1)

        assert await cancel_at_each_await(behind_others, as_many_as_ever_are_reviewed) > 3

    run_virtually(cancelled_behind_others())
