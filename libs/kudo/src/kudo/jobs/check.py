"""The job `check`: reads the arrays and maps of one decision with the full limits."""

from collections.abc import Sequence
from typing import Final

import orjson

from kudo.verdicts import Fault, Value, read_all

NAME: Final = "check"


def encode_request(values: Sequence[Value]) -> bytes:
    return orjson.dumps(values)


def handle(request: bytes) -> bytes:
    """Return what is wrong with each value; the list ends where a shared limit is spent."""
    faults = read_all((value_type, text) for value_type, text in orjson.loads(request))
    return orjson.dumps([fault and (fault.detail, fault.limit, fault.together) for fault in faults])


def decode_answer(answer: bytes) -> list[Fault | None]:
    return [None if fault is None else Fault(*fault) for fault in orjson.loads(answer)]
