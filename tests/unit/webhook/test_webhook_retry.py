"""The loop of attempts: how failures and lost races are told, and what ends it."""

import asyncio
import logging
from collections.abc import Iterable

import pytest

from kubeio.errors import Forbidden, ServerError
from kudo_webhook.retry import LostRace, RetryLoop


class Attempts:
    """Attempts that end as they are told; 30 seconds until the next one after a success."""

    def __init__(self, ends: Iterable[Exception | None]) -> None:
        self._ends = iter(ends)
        self.failures = 0

    async def __call__(self) -> float:
        end = next(self._ends)
        if end is not None:
            raise end
        return 30.0

    def failed(self) -> None:
        self.failures += 1

    def loop(self) -> RetryLoop:
        return RetryLoop(
            self, timeout=5.0, longest_delay=60.0, complaint="no luck", on_failure=self.failed
        )


async def delays(attempts: Attempts, number: int) -> list[float]:
    loop = attempts.loop()
    return [await loop.once() for _ in range(number)]


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


async def test_a_reason_is_logged_once_until_it_changes_or_an_attempt_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, forbidden = ServerError("broken", status=500), Forbidden("forbidden", status=403)
    attempts = Attempts([broken, broken, forbidden, None, forbidden])
    await delays(attempts, 5)
    reasons = ["broken (500 InternalError)", *["forbidden (403 Forbidden)"] * 2]
    assert told(caplog) == [f"no luck: {reason}" for reason in reasons]
    assert attempts.failures == 4


async def test_an_attempt_without_an_answer_says_so(caplog: pytest.LogCaptureFixture) -> None:
    await delays(Attempts([TimeoutError()]), 1)
    assert told(caplog) == ["no luck: the API server did not answer in time"]


async def test_lost_races_are_no_failures_and_logged_when_they_do_not_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempts = Attempts([*[LostRace("somebody writes")] * 4, None, *[LostRace("they go on")] * 6])
    found = await delays(attempts, 11)
    assert told(caplog) == ["no luck: they go on"]
    assert attempts.failures == 0
    assert found[4] == 30.0
    assert all(delay <= 8.0 for number, delay in enumerate(found) if number != 4)


async def test_the_next_attempt_waits_as_long_as_the_api_server_asks() -> None:
    error = ServerError("busy", status=503, retry_after=20.0)
    [delay] = await delays(Attempts([error]), 1)
    assert 20.0 <= delay <= 21.0


async def test_an_error_that_is_not_expected_ends_the_loop() -> None:
    with pytest.raises(ZeroDivisionError):
        await Attempts([ZeroDivisionError()]).loop().run()


async def test_an_attempt_is_given_up_after_its_timeout(caplog: pytest.LogCaptureFixture) -> None:
    async def endless() -> float:
        await asyncio.Event().wait()
        return 0.0

    loop = RetryLoop(endless, timeout=0.01, longest_delay=1.0, complaint="no luck")
    assert await loop.once() <= 1.0
    assert told(caplog) == ["no luck: the API server did not answer in time"]
