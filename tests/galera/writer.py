"""`python -m tests.galera.writer FILE`: inserts numbered rows until its input ends.

The first line of the input is JSON with `host`, `port`, `user` and `password`. Each row has a
transaction of its own and a number that is used once: after an error nobody knows whether the row
was committed. FILE gets the number of each row that was acknowledged. After an error the writer
connects again at once. At the end it prints JSON: how many rows it `tried`, and how often each of
its `errors` came.
"""

import json
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.galera.acknowledged import Acknowledgement, Notes
from tests.galera.database import ERRORS, INSERT, Server

_BETWEEN_ROWS = 0.01
_AFTER_ERROR = 0.05


class Writer:
    """Inserts rows and notes which of them were acknowledged."""

    def __init__(self, server: Server, notes: Notes) -> None:
        self.tried = 0
        self.errors: Counter[str] = Counter()
        self._server = server
        self._notes = notes
        self._connection: Any = None

    def run(self, stopped: threading.Event) -> None:
        """Insert rows until the event is set."""
        while not stopped.is_set():
            try:
                self._insert()
            except ERRORS as error:
                self.errors[_describe(error)] += 1
                self._disconnect()
                stopped.wait(_AFTER_ERROR)
            else:
                stopped.wait(_BETWEEN_ROWS)
        self._disconnect()

    def _insert(self) -> None:
        if self._connection is None:
            self._connection = self._server.connect()
        self.tried += 1
        with self._connection.cursor() as cursor:
            cursor.execute(INSERT, (self.tried, self.tried))
        self._notes.add(Acknowledgement(self.tried, time.monotonic()))

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(*ERRORS):
                self._connection.close()
            self._connection = None


def _describe(error: Exception) -> str:
    number = error.args[0] if error.args else ""
    return f"{type(error).__name__} {number}"


def _set_at_the_end(stopped: threading.Event) -> None:
    sys.stdin.read()
    stopped.set()


def main() -> int:
    """Run the writer."""
    server = Server(**json.loads(sys.stdin.readline()))
    stopped = threading.Event()
    threading.Thread(target=_set_at_the_end, args=(stopped,), daemon=True).start()
    with Notes(Path(sys.argv[1])) as notes:
        writer = Writer(server, notes)
        writer.run(stopped)
    sys.stdout.write(json.dumps({"tried": writer.tried, "errors": writer.errors}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
