"""Jobs of worker processes: pure functions from bytes to bytes, by name."""

from collections.abc import Callable, Mapping

HANDLERS: Mapping[str, Callable[[bytes], bytes]] = {}


def prepare() -> None:
    """Import and read what the handlers need: later, a worker process can open nothing."""
