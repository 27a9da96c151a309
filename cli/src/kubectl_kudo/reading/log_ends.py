"""Reads the last lines of the log of a container that failed, with the rights of the reader.

What a program prints is never in a status, which more people may read than logs: `set -x` prints
passwords. Who reads a status and may read the log as well is shown both.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from kubectl_kudo.reading.plan_view import Explanation
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.errors import describe
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.terminal import word
from kubeio.client import Client
from kubeio.errors import BadRequest, Forbidden, KubeError, NotFound
from kubeio.resource import PODS

LINES: Final = 20
CHARACTERS: Final = 4096
"""Of all lines of a log together, once control characters are shown as text."""
SECONDS: Final = 5.0
"""Time that all logs of a command may take."""
_LONGEST_LINE: Final = 1000
_ASKED: Final = 2**20
"""Bytes; of lines that have more the kubelet sends the first ones, and not the last."""
_KEPT: Final = 2**16
"""Bytes of an answer that are in memory at a time."""
_PODS: Final = 100
"""Failed pods of a Job that are looked at."""
_LONGEST_ERROR: Final = 300
_TAB: Final = 8
_ANSI: Final = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
"""Colours and movements of the cursor, as programs write them for a terminal."""


@dataclass(slots=True)
class LogReader:
    """Reads the logs that a command shows, each once.

    Nothing is raised for what cannot be read: a log is an addition to what is shown.

    Attributes:
        client: Reads as the user.
    """

    client: Client
    _left: float = field(default_factory=lambda: SECONDS)
    _read: set[tuple[str, str]] = field(default_factory=set)

    async def of_job(self, namespace: str, name: str) -> Explanation | None:
        """Return the end of the log of the last failed pod of a Job, or why it cannot be read.

        None if no pod is left of it, or none has a log.
        """
        try:
            async with self._limited():
                pods = await self._failed_pods(namespace, name)
        except (KubeError, TimeoutError) as error:
            return _unread(f"of job {name}", error, f"list on pods in namespace {namespace}")
        return await self.of_pod(max(pods, key=_age)) if pods else None

    async def _failed_pods(self, namespace: str, job: str) -> list[JsonObject]:
        pages = self.client.pages(
            PODS,
            namespace=namespace,
            label_selector=f"batch.kubernetes.io/job-name={job}",
            field_selector="status.phase=Failed",
            limit=_PODS,
        )
        # A Job may have thousands of failed pods: one request has to do.
        async for page in pages:
            return page.items
        return []

    async def of_pod_named(self, namespace: str, name: str) -> Explanation | None:
        """Return the end of the log of a pod, as `of_pod` does."""
        try:
            async with self._limited():
                pod = await self.client.get(PODS, name, namespace=namespace)
        except NotFound:
            return None
        except (KubeError, TimeoutError) as error:
            return _unread(f"of pod {name}", error, f"get on pods in namespace {namespace}")
        return await self.of_pod(pod)

    async def of_pod(self, pod: JsonObject) -> Explanation | None:
        """Return the end of the log of the container that failed, or why it cannot be read.

        None if no container has failed that left a log.
        """
        from kudo.objects.health import problem_of  # the models cost a fifth of a second

        problem = problem_of(pod)
        if problem is None or not problem.ended:
            return None
        namespace, name = str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"])
        whose = f"pod {name}, container {printable(problem.container)}"
        if (name, problem.container) in self._read:
            return None
        self._read.add((name, problem.container))
        query = {
            "container": problem.container,
            "tailLines": str(LINES),
            "limitBytes": str(_ASKED),
            **({} if _has_ended(pod, problem.container) else {"previous": "true"}),
        }
        try:
            async with self._limited():
                lines = last_lines(await self._end(PODS.path(namespace, name, "log"), query))
        except (BadRequest, NotFound):
            # The pod has gone meanwhile, or its log has.
            return None
        except (KubeError, TimeoutError) as error:
            right = f"get on pods/log in namespace {namespace}"
            return _unread(f"of {whose}", error, right)
        if not lines:
            return Explanation(f"{whose} has written nothing to its log", lines=())
        return Explanation(f"last lines of {whose}:", lines=lines)

    async def _end(self, path: str, query: dict[str, str]) -> bytes:
        """Return the last bytes of an answer."""
        end = b""
        async with self.client.text(path, query=query) as chunks:
            async for chunk in chunks:
                end = (end + chunk)[-_KEPT:]
        return end

    @asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        """Raise TimeoutError as soon as all logs together have taken too long."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._left):
                yield
        finally:
            self._left = max(0.0, self._left - (time.monotonic() - began))


def last_lines(log: bytes) -> tuple[str, ...]:
    """Return the last lines of a log as they may be shown: each on one line, all of bounded length.

    Of a line that is too long the beginning is shown; of too many characters, the last lines.
    """
    lines: deque[str] = deque()
    left = CHARACTERS
    for line in reversed(log.decode("utf-8", "replace").split("\n")[-LINES - 1 :]):
        shown = word(_ANSI.sub("", line.rstrip("\r").expandtabs(_TAB))).rstrip()
        if len(shown) > _LONGEST_LINE:
            shown = f"{shown[: _LONGEST_LINE - 1]}…"
        left -= len(shown)
        if left < 0 or len(lines) == LINES:
            break
        if shown or lines:
            lines.appendleft(shown)
    while lines and not lines[0]:
        lines.popleft()
    return tuple(lines)


def _has_ended(pod: JsonObject, container: str) -> bool:
    """Return whether the last run of a container is the one that has ended."""
    status = pod.get("status") or {}
    states: Sequence[JsonObject] = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    return any(
        (state.get("state") or {}).get("terminated")
        for state in states
        if state.get("name") == container
    )


def _unread(of: str, error: Exception, right: str) -> Explanation:
    """Return why a log is not shown."""
    if isinstance(error, Forbidden):
        return Explanation(f"to see the log {of}: you need {right}", lines=())
    if isinstance(error, TimeoutError):
        return Explanation(f"the log {of} could not be read within {SECONDS:g}s", lines=())
    why = printable(describe(error) or str(error), _LONGEST_ERROR)
    return Explanation(f"the log {of} could not be read: {why}", lines=())


def _age(pod: JsonObject) -> tuple[str, str]:
    """Return what sorts pods by the time of their creation."""
    metadata = pod["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])
