"""What a client with a kept connection sees of a webhook that stops."""

import asyncio
from pathlib import Path

from tests.unit.webhook.harness import MUTATE, VALIDATE, instance, review, running

HOUR = 3600.0


async def test_a_kept_connection_is_closed_with_its_next_answer(tmp_path: Path) -> None:
    async with running(tmp_path, drain_seconds=HOUR) as webhook:
        connector = webhook.session.connector
        assert connector is not None
        for path in (MUTATE, VALIDATE):
            await webhook.ask(review(instance()), path)
        assert len(connector._conns) == 1
        webhook.stop.set()
        await asyncio.sleep(0)
        assert (await webhook.ask(review(instance())))["allowed"] is True
        assert len(connector._conns) == 0
        webhook.stopped.cancel()


async def test_requests_are_answered_on_new_connections_meanwhile(tmp_path: Path) -> None:
    async with running(tmp_path, drain_seconds=HOUR) as webhook:
        webhook.stop.set()
        await asyncio.sleep(0)
        for path in (MUTATE, VALIDATE):
            answers = [await webhook.ask(review(instance()), path) for _ in range(2)]
            assert [answer["uid"] for answer in answers] == ["u-1", "u-1"]
        webhook.stopped.cancel()
