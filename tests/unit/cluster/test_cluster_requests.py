"""Requests to `kudo-cluster run`: how they are read, and which are refused."""

import os
import signal
import threading
from collections.abc import Iterator
from io import FileIO
from typing import BinaryIO, cast

import pytest

from kudo_cluster.cluster import Cluster
from kudo_cluster.errors import ClusterError
from kudo_cluster.progress import silent
from kudo_cluster.run import LONGEST, BadRequest, Lines, Session


@pytest.fixture
def pipe() -> Iterator[tuple[Lines, BinaryIO]]:
    """Give requests, and the end of the pipe that they are written to."""
    reading, writing = os.pipe()
    with FileIO(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as target:
        lines = Lines(source)
        lines.ending = False
        yield lines, cast("BinaryIO", target)
        target.close()
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and thread.daemon:
                thread.join()


def test_requests_come_in_order(pipe: tuple[Lines, BinaryIO]) -> None:
    lines, target = pipe
    target.write(b'{"logs": {}}\n\n{"restart": "webhook"}\n')
    assert [lines.next(), lines.next()] == [{"logs": {}}, {"restart": "webhook"}]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"hello", "a request is one JSON object in a line"),
        (b"[1]", "a request is a JSON object with one field"),
        (b"{}", "a request is a JSON object with one field"),
        (b'{"a": 1, "b": 2}', "a request is a JSON object with one field"),
        (b'{"\xff": 1}', "a request is one JSON object in a line"),
        (b"[" * 60000, "a request is nested too deeply"),
        (b'"' + b"x" * LONGEST + b'"', f"a request is longer than {LONGEST} bytes"),
        (b"x" * 10 * LONGEST, f"a request is longer than {LONGEST} bytes"),
    ],
)
def test_a_line_that_is_no_request_is_refused_and_the_next_one_read(
    pipe: tuple[Lines, BinaryIO], line: bytes, problem: str
) -> None:
    lines, target = pipe
    writing = threading.Thread(target=lambda: target.write(line + b'\n{"logs": {}}\n'))
    writing.start()
    with pytest.raises(BadRequest, match=problem):
        lines.next()
    assert lines.next() == {"logs": {}}
    writing.join()


def test_the_end_of_the_input_ends_the_process() -> None:
    caught = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: caught.set())
    try:
        reading, writing = os.pipe()
        with FileIO(reading, "rb") as source:
            Lines(source)
            os.close(writing)
            assert caught.wait(30)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"format": "disk"}, "no request 'format'; there are install, restart, node, logs, keep"),
        ({"x" * 1000: 1}, "no request 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"),
        ({"install": {}}, "the value has the fields crds"),
        ({"install": {"crds": 1}}, "crds is text"),
        ({"install": {"crds": "/no/such.yaml"}}, "no file of CRDs: /no/such.yaml"),
        ({"restart": "etcd"}, "restart is webhook or reconciler"),
        ({"restart": []}, "restart is webhook or reconciler"),
        ({"node": {"name": "a"}}, "the value has the fields name, ready"),
        ({"node": {"name": "a", "ready": 1}}, "ready is true or false"),
        ({"node": {"name": "", "ready": True}}, "name is text"),
        ({"logs": []}, r"the value has the fields \(none\)"),
    ],
)
def test_a_request_that_is_not_understood_changes_nothing(
    request_: dict[str, object], problem: str
) -> None:
    session = Session(cast("Cluster", None), silent)
    with pytest.raises(BadRequest, match=problem):
        session.answer(request_)


def test_a_service_that_is_not_installed_cannot_be_restarted() -> None:
    session = Session(cast("Cluster", None), silent)
    with pytest.raises(ClusterError, match="KUDO is not installed"):
        session.answer({"restart": "webhook"})
