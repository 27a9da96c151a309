"""Rendering for tests of Sprig's functions, with a clock that stands and chance that repeats."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from gotemplate import Environment, Limits, Sources, TemplateError

NOW = datetime(2024, 2, 29, 12, 30, 15, 123_456, tzinfo=UTC)


def steady(seed: str = "a") -> Sources:
    """Give sources of which the same calls get the same answers."""
    drawn = 0

    def random(size: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_256(f"{seed}{drawn}".encode()).digest(size)

    nanoseconds = int(NOW.timestamp()) * 10**9 + NOW.microsecond * 1000
    return Sources(
        now=lambda: nanoseconds,
        random=random,
        variables={"HOME": "/home/of"},
        resolve=lambda host: ["192.0.2.7"] if host == "known" else [],
    )


def render(
    text: str,
    data: Mapping[str, object] | None = None,
    *,
    seed: str = "a",
    limits: Limits | None = None,
) -> str:
    """Render a template with all functions."""
    environment = Environment("sprig", limits=limits, sources=steady(seed))
    return environment.parse("t", text).render(data or {})


def failure(
    text: str, data: Mapping[str, object] | None = None, *, limits: Limits | None = None
) -> TemplateError:
    """Give the error of a template that fails."""
    with pytest.raises(TemplateError) as caught:
        render(text, data, limits=limits)
    return caught.value
