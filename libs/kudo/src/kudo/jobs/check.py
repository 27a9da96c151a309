"""The job `check`: reads the arrays, the maps and what patterns match of one decision.

Its position is the number of the value that it reads; a worker does not know which parameter's.
"""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Final

import orjson

from kudo.jobs.position import position
from kudo.parameters.values import Fault, Value, read_all

NAME: Final = "check"


def encode_request(values: Sequence[Value]) -> bytes:
    return orjson.dumps(values)


def handle(request: bytes) -> bytes:
    """Return what is wrong with each value; the list ends where a shared limit is spent."""
    values = ((value_type, text, bounds) for value_type, text, bounds in orjson.loads(request))
    faults = read_all(values, lambda number: position.tell(str(number)))
    return orjson.dumps([None if fault is None else astuple(fault) for fault in faults])


def decode_answer(answer: bytes) -> list[Fault | None]:
    return [None if fault is None else Fault(*fault) for fault in orjson.loads(answer)]


def value_at(position: str) -> int | None:
    """Return the number of the value that a worker was reading; None if it told none."""
    return int(position) if position.isascii() and position.isdigit() else None
