"""Reads events of Instances."""

from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.waiting import wait_until


async def reasons(world: World) -> list[str]:
    """Return the reasons of all events of Instances, oldest first."""
    return [event["reason"] for event in await world.events()]


async def event_text(world: World, reason: str) -> str:
    """Return the message of the only event with this reason."""
    found = await world.events(reason)
    assert len(found) == 1, await reasons(world)
    return str(found[0]["message"])


async def ends_of(world: World, uid: str) -> list[str]:
    """Return the messages of the end events of an execution."""
    events = await world.events()
    return [e["message"] for e in events if e["metadata"]["name"].endswith(f".{uid}.finished")]


async def until_event(world: World, reason: str) -> Json:
    """Wait for an event with this reason, and return it."""
    found: list[Json] = []

    async def there() -> bool:
        nonlocal found
        found = await world.events(reason)
        return bool(found)

    await wait_until(there, lambda: f"an event {reason}")
    return found[0]
