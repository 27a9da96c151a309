"""Measures a value before a recursive function works on it."""

from collections.abc import Mapping

from gotemplate.errors import LimitError
from gotemplate.limits import Rendering


def measure(run: Rendering, value: object) -> None:
    """Check that a value is neither too deep nor too large; a value that occurs twice counts twice.

    Raises:
        LimitError: the value is deeper or larger than the limits allow.
    """
    limits = run.limits
    room = limits.string
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        room -= 1 + depth  # deep values are indented
        run.check("value_depth", depth)
        if isinstance(item, str):
            room -= len(item)
        elif isinstance(item, Mapping):
            run.charge(len(item))
            room -= sum(len(key) for key in item if isinstance(key, str))
            waiting.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, (list, tuple)):
            run.charge(len(item))
            waiting.extend((inner, depth + 1) for inner in item)
        if room < len(waiting):
            raise LimitError("string", limits.string)
    run.charge((limits.string - room) >> 6)
