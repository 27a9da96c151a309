"""Writes that may reach an object only as it was read, and what their failure means."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from kubeio.errors import Conflict, Invalid, NotFound
from kubeio.types import JsonObject


class ObjectChanged(Conflict):
    """The object is not as it was read, or is gone: read it again and decide anew."""

    def __init__(self) -> None:
        super().__init__("the object changed meanwhile", status=409)


@asynccontextmanager
async def unchanged(
    version: str, read_again: Callable[[], Awaitable[JsonObject | None]]
) -> AsyncIterator[None]:
    """Send a write in here that names the resourceVersion, or tests another field.

    Args:
        version: The resourceVersion that the object was read with.
        read_again: Reads the object from the API server after a failure; None if it is gone.

    Raises:
        ObjectChanged: the object changed since it was read, or is gone.
        Conflict, Invalid, NotFound: the API server refused the write itself.
    """
    try:
        yield
    except (Conflict, Invalid, NotFound) as error:
        # A failed test of a JSON Patch is answered with 422, and so is a refusal by a policy. The
        # resourceVersion tells them apart: trying a refused write again would never end.
        live = await read_again()
        if live is not None and live["metadata"]["resourceVersion"] == version:
            raise
        raise ObjectChanged from error
