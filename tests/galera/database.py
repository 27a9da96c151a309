"""Reads a MariaDB server over the network, as a client of the database does."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pymysql

SCHEMA = "app"
TABLE = "counted"
"""Rows with a number and a text that follows from it."""
CREATE = (
    f"CREATE TABLE IF NOT EXISTS {TABLE} (number BIGINT PRIMARY KEY, body CHAR(32) NOT NULL)"
    " ENGINE=InnoDB"
)
INSERT = f"INSERT INTO {TABLE} (number, body) VALUES (%s, MD5(%s))"
_CONNECT_SECONDS = 1
_ANSWER_SECONDS = 3
_RETRY_SECONDS = 60.0
_RETRY_POLL = 0.1
ERRORS = (pymysql.MySQLError, OSError)
"""What a server that cannot answer leads to."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Server:
    """An address and how to log in.

    Attributes:
        host: IP address of a Service or of a pod.
        password: Of the user.
        port: Of the server.
        user: Who may write to the schema.
    """

    host: str
    password: str = field(repr=False)
    port: int = 3306
    user: str = "app"

    def connect(self, answer_seconds: int = _ANSWER_SECONDS) -> "pymysql.Connection[Any]":
        """Connect with autocommit; raises one of `ERRORS`.

        Args:
            answer_seconds: How long to wait for an answer.
        """
        return pymysql.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            database=SCHEMA,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=answer_seconds,
            write_timeout=answer_seconds,
        )

    @contextmanager
    def cursor(self, answer_seconds: int = _ANSWER_SECONDS) -> Iterator[Any]:
        """Yield a cursor of a new connection; raises one of `ERRORS`."""
        with self.connect(answer_seconds) as connection, connection.cursor() as cursor:
            yield cursor


@dataclass(frozen=True, slots=True)
class Member:
    """What a node says of its cluster.

    Attributes:
        size: Number of nodes that it sees.
        primary: Whether they may accept writes.
        state: Such as Synced.
    """

    size: int
    primary: bool
    state: str


def member(server: Server) -> Member:
    """Ask a node for its cluster; raises one of `ERRORS`."""
    with server.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep_%'")
        found = dict(cursor.fetchall())
    return Member(
        int(found.get("wsrep_cluster_size", 0)),
        found.get("wsrep_cluster_status") == "Primary",
        str(found.get("wsrep_local_state_comment", "")),
    )


def create_table(server: Server) -> None:
    """Create the table of the writer; raises one of `ERRORS`."""
    with server.cursor() as cursor:
        cursor.execute(CREATE)


def numbers(server: Server) -> set[int]:
    """Return the numbers of all rows; raises one of `ERRORS`."""
    with server.cursor(answer_seconds=60) as cursor:
        # A node that lags behind first applies what the others have committed.
        cursor.execute("SET SESSION wsrep_sync_wait = 1")
        cursor.execute(f"SELECT number FROM {TABLE}")
        return {row[0] for row in cursor.fetchall()}


def checksum(server: Server, last: int) -> tuple[int, int]:
    """Return the count and a checksum of the rows up to a number; raises one of `ERRORS`."""
    with server.cursor(answer_seconds=60) as cursor:
        cursor.execute("SET SESSION wsrep_sync_wait = 1")
        cursor.execute(
            f"SELECT COUNT(*), COALESCE(BIT_XOR(CRC32(CONCAT_WS('#', number, body))), 0)"
            f" FROM {TABLE} WHERE number <= %s",
            (last,),
        )
        [(count, value)] = cursor.fetchall()
    return int(count), int(value)


def retried(action: Callable[[Server], Answer], server: Server) -> Answer:
    """Ask a server until it answers; a new Service takes kube-proxy a moment.

    Raises:
        AssertionError: it did not within a minute.
    """
    deadline = time.monotonic() + _RETRY_SECONDS
    while True:
        with suppress(*ERRORS):
            return action(server)
        assert time.monotonic() < deadline, f"{server.host} does not answer"
        time.sleep(_RETRY_POLL)
