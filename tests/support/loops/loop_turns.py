"""The longest turns of an event loop, in this process or a service, as of `serving.event_loop`.

`measured` is for fuzzing and for benches in one process, `scraped` for real services. A service
forgets with each scrape, so scrape once before what is to be measured.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from prometheus_client.parser import text_string_to_metric_families as parsed

from serving.event_loop import Longest, TimedLoop

T = TypeVar("T")
_WALL, _CPU = "kudo_event_loop_turn_seconds_max", "kudo_event_loop_turn_cpu_seconds_max"


def measured(main: Coroutine[Any, Any, T]) -> tuple[T, Longest]:
    """Run a coroutine on a new loop; return its result, and the longest turns until it ended."""
    with asyncio.Runner(loop_factory=TimedLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, TimedLoop)

        async def and_its_last_turn() -> T:
            result = await main
            await asyncio.sleep(0)
            return result

        result = runner.run(and_its_last_turn())
        return result, loop.turns.take()


async def forget() -> None:
    """Leave out of what is measured whatever the running loop has done until now."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, TimedLoop)
    await asyncio.sleep(0)
    loop.turns.take()


def scraped(text: str) -> Longest:
    """Return the longest turns of a service since the scrape before the one that said this.

    Raises:
        KeyError: the service does not measure its loop.
    """
    values = {sample.name: sample.value for one in parsed(text) for sample in one.samples}
    return Longest(wall=values[_WALL], cpu=values[_CPU])
