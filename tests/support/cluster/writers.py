"""Users who change Instances all the time, and a record of what became of each change."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kubeio.errors import ApiError
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

PARAMETER = "VALUE"


@dataclass(frozen=True)
class Failure:
    """A change that was refused.

    Attributes:
        began: When it was sent, by the monotonic clock.
        error: What the API server said.
        before: The Instance as it was stored before.
        after: The Instance as it was stored right after.
    """

    began: float
    error: ApiError
    before: Json
    after: Json


@dataclass
class Writer:
    """Changes a parameter of one Instance, one change after the other."""

    world: World
    name: str
    changes: int = 0
    failures: list[Failure] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    async def write(self, stop: asyncio.Event) -> None:
        """Change it until `stop` is set."""
        stored = await self.world.instance(self.name)
        while not stop.is_set():
            stored = await self._change(stored)
            # So that a change is on its way at most moments, and the machine is not busy with them.
            await asyncio.sleep(0.05)

    async def _change(self, stored: Json) -> Json:
        value, began = str(int(value_of(stored)) + 1), time.monotonic()
        try:
            changed = await self.world.patch(self.name, {"parameters": {PARAMETER: value}})
        except ApiError as error:
            after = await self.world.instance(self.name)
            self.failures.append(Failure(began, error, stored, after))
            return after
        self.changes += 1
        run, before = instances.scheduled(changed), instances.scheduled(stored)
        if value_of(changed) != value or run.get("uid") == before.get("uid"):
            self.faults.append(f"{self.name}: {value} was stored as {changed['spec']}")
        return changed


@asynccontextmanager
async def writing(world: World, version: str, count: int) -> AsyncIterator[list[Writer]]:
    """Create Instances, and change all of them at once for the block."""
    writers = [Writer(world, f"written-{number}") for number in range(count)]
    for writer in writers:
        created = await world.apply(build.instance(writer.name, version, **{PARAMETER: "0"}))
        assert created.code == 0, created.output
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(writer.write(stop), name=writer.name)
        yield writers
        stop.set()


async def until_written(writers: Sequence[Writer], more: int) -> None:
    """Wait until every writer has made so many more changes."""
    goals = [writer.changes + more for writer in writers]

    async def reached() -> bool:
        return all(w.changes >= goal for w, goal in zip(writers, goals, strict=True))

    await wait_until(reached, lambda: f"{more} changes of each of {len(writers)} writers")


def value_of(instance: Json) -> str:
    return str(instance["spec"]["parameters"][PARAMETER])
