"""Limits for waits, whose failure says what was waited for and what was there instead."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

_LONGEST = 500


@asynccontextmanager
async def within(seconds: float, condition: Callable[..., object]) -> AsyncIterator[None]:
    """Limit a block that waits for a condition.

    Raises:
        AssertionError: time is over; it has the text of `in_vain`.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise AssertionError(in_vain(seconds, condition)) from None


def in_vain(seconds: float, condition: Callable[..., object]) -> str:
    """Say what was waited for: the source of a condition, and the state that it looks at."""
    return f"waited {seconds:.0f} s in vain for {_source(condition)}{_state(condition)}"


def _source(condition: Callable[..., object]) -> str:
    try:
        return inspect.getsource(condition).strip()
    except (TypeError, OSError):
        return repr(condition)


def _state(condition: Callable[..., object]) -> str:
    """Return the values that a function has from where it was defined, or its instance."""
    found: dict[str, Any] = {}
    if inspect.isfunction(condition):
        found = dict(inspect.getclosurevars(condition).nonlocals)
    elif inspect.ismethod(condition):
        found = {"self": condition.__self__}
    return "".join(f"\n    {name} = {_shown(value)}" for name, value in found.items())


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
