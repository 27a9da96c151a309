"""Runs a cluster for another program, which speaks to it over stdin and stdout.

Both speak one JSON object a line. The first answer tells that the cluster is ready; then each
request gets one answer, in order:

    {"install": {"crds": PATH}}                   {"done": "install"}; nothing if KUDO runs already
    {"restart": "webhook"} or "reconciler"        {"done": "restart"}: killed, and ready again
    {"node": {"name": "node-1", "ready": false}}  {"done": "node"}: Ready or not, and so its pods
    {"logs": {}}                                  {"logs": {NAME: the end of its log}}
    {"keep": {}}                                  {"kept": {"pid": PID}}

What failed is answered with {"error": TEXT}. The end of the input, SIGTERM and SIGINT end
everything; files are deleted then. After `keep` only a signal does.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from kudo_cluster import state
from kudo_cluster.cluster import Cluster, Profile
from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout
from kudo_cluster.progress import Progress
from kudo_cluster.run.lines import BadRequest, Lines, open_input
from kudo_cluster.run.session import Session


class _Ended(BaseException):
    """The input has ended, or a signal came."""


def run(
    directory: Path | None, profile: Profile, nodes: int, crds: Path | None, progress: Progress
) -> int:
    """Run a cluster until the input ends; return the exit code.

    Args:
        directory: Of its files; a temporary one by default.
        profile: Simulated nodes, or one real node.
        nodes: Number of simulated nodes.
        crds: File of CRDs to create before the controllers start.
        progress: Receives a line for each step; never stdout, which has the answers.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    with contextlib.suppress(_Ended):
        # Before the cluster starts, which may take minutes if its programs have to be built.
        lines = Lines(open_input(sys.stdin.fileno()))
        try:
            with _cluster(directory, profile, nodes, crds, progress) as session:
                _answer(session.ready())
                while True:
                    _answer(_answer_to(lines, session))
        except ClusterError as error:
            _ignore_signals()
            _answer({"error": str(error)})
            return 1
    return 0


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    """Raise _Ended once."""
    _ignore_signals()
    raise _Ended


def _ignore_signals() -> None:
    """Keep the end itself from being interrupted."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _cluster(
    directory: Path | None, profile: Profile, nodes: int, crds: Path | None, progress: Progress
) -> Iterator[Session]:
    try:
        cluster = Cluster.start(
            directory, name="run", profile=profile, crds=crds, progress=progress
        )
    except _Ended:
        if directory is not None:
            _remove_started(Layout(directory.absolute()))
        raise
    session = Session(cluster, progress)
    try:
        for number in range(2, nodes + 1):
            cluster.add_node(f"node-{number}")
        yield session
    finally:
        session.stop()
        cluster.remove()


def _remove_started(layout: Layout) -> None:
    """Delete the files of a start that was interrupted; not those of a cluster that runs there."""
    with layout.locked():
        found = state.read(layout.root)
        if found is None or not found.alive:
            layout.remove()


def _answer_to(lines: Lines, session: Session) -> dict[str, Any]:
    try:
        request = lines.next()
        if request == {"keep": {}}:
            lines.ending = False
            return {"kept": {"pid": os.getpid()}}
        return session.answer(request)
    except (BadRequest, ClusterError) as error:
        return {"error": str(error)}


def _answer(message: dict[str, Any]) -> None:
    """Write one line to stdout; raises _Ended if nobody reads it any more."""
    line = json.dumps(message).encode() + b"\n"
    try:
        while line:
            line = line[os.write(1, line) :]
    except BrokenPipeError:
        raise _Ended from None
