"""Digests of the objects that a task has applied: the memory of a run that outlives the process.

They are in the status of a task that waits, 8 hexadecimal digits for each object in the order in
which they were sent. After a restart an object whose digits are the same now is not sent again: it
is of this run, unchanged since, and would be sent as it was.

The status may be read by those who may not read Secrets, and a short password could be guessed from
a digest. So a Secret has none, and is sent again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Final, Self

import orjson

from kudo.api import JsonObject
from kudo.api.known_secrets import is_secret
from kudo.objects.inventory.digest import MOST_BYTES
from kudo_reconciler.execution.task_context import TaskContext

MOST_OBJECTS: Final = 100
"""Of a task with more, nothing is stored."""
_DIGITS: Final = 8
UNKNOWN: Final = "-" * _DIGITS
"""The place of an object that is always sent again."""


def digits_of(run: str, stored: JsonObject, sent: JsonObject) -> str:
    """Return the digits of an object; it takes up to 3 ms, on the event loop.

    Args:
        run: uid of the execution.
        stored: The object as the API server has it; uid and resourceVersion suffice.
        sent: The object as its task sends it.
    """
    if is_secret(sent):
        return UNKNOWN
    content = orjson.dumps(sent)
    if len(content) > MOST_BYTES:
        return UNKNOWN
    metadata = stored["metadata"]
    digest = sha256(f"{run} {metadata['uid']} {metadata['resourceVersion']} ".encode())
    digest.update(content)
    return digest.hexdigest()[:_DIGITS]


class Digests:
    """The digits of the objects of a task, while it applies them.

    Args:
        run: uid of the execution.
        stored: The digits that are known.
        number: Of the objects.
    """

    def __init__(self, run: str, stored: str, number: int) -> None:
        self._run = run
        self._digits = [_at(stored, index) for index in range(number)]

    @classmethod
    @contextmanager
    def kept(cls, context: TaskContext, number: int) -> Iterator[Self]:
        """Return those of a task; at the end, also by an error, the memory of the run has them."""
        digests = cls(context.uid, context.applied, number)
        try:
            yield digests
        finally:
            context.memory.digests[context.key] = str(digests)

    def __getitem__(self, index: int) -> str:
        return self._digits[index]

    def applied(self, index: int, stored: JsonObject, sent: JsonObject) -> None:
        """Note an object that was applied; see `digits_of`."""
        if len(self._digits) <= MOST_OBJECTS:
            self._digits[index] = digits_of(self._run, stored, sent)

    def __str__(self) -> str:
        """Return the digits of all objects; empty if there are too many, or none is known."""
        known = len(self._digits) <= MOST_OBJECTS and any(one != UNKNOWN for one in self._digits)
        return "".join(self._digits) if known else ""


def _at(digits: str, index: int) -> str:
    found = digits[index * _DIGITS :][:_DIGITS]
    return found if len(found) == _DIGITS else UNKNOWN
