"""Commands in containers, over a websocket to the API server.

    GET .../pods/NAME/exec  ->  101  ->  frames: one byte of channel, then bytes  ->  exit code

Invariants: stdout and stderr arrive separately and unchanged; their size and the duration are
bounded; a connection that closes before the exit code arrives is ConnectionLost, never a success.
There is no terminal and no stdin. After an error the command may have run, except after a
``ConnectionLost`` with ``maybe_sent`` False or a rejection by the API server.
"""

from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from kubeio.errors import ConnectionLost, KubeError, error_from_status
from kubeio.types import JsonObject

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""Subprotocols of the websocket; they differ only for stdin, which is never sent."""
_STDOUT, _STDERR, _STATUS = 1, 2, 3


class OutputTooLarge(KubeError):
    """A command wrote more than the limit; the connection was closed, the command may go on.

    Attributes:
        limit: Bytes of stdout and stderr together.
    """

    def __init__(self, command: Sequence[str], limit: int) -> None:
        self.limit = limit
        super().__init__(f"{command[0]} wrote more than {limit} bytes")


@dataclass(frozen=True, slots=True)
class ExecResult:
    """Exit code and output of a command; an exit code other than 0 is no error."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def exec_query(container: str, command: Sequence[str]) -> list[tuple[str, str]]:
    """Return the query parameters of an exec, with one ``command`` for each argument."""
    options = [("container", container), ("stdout", "true"), ("stderr", "true")]
    return [*options, *(("command", argument) for argument in command)]


async def read_result(
    frames: AsyncIterable[bytes], command: Sequence[str], limit: int
) -> ExecResult:
    """Collect the output of a command until its exit code arrives.

    Raises:
        ApiError: the command cannot be run, such as a program that the container lacks.
        ConnectionLost: the connection closed before the exit code, or a frame cannot be read.
        OutputTooLarge: the command wrote more than `limit` bytes.
    """
    written = {_STDOUT: bytearray(), _STDERR: bytearray()}
    async for frame in frames:
        channel, content = frame[:1], frame[1:]
        if channel == bytes([_STATUS]):
            code = _exit_code(content, command)
            return ExecResult(code, bytes(written[_STDOUT]), bytes(written[_STDERR]))
        if not channel or channel[0] not in written:
            raise ConnectionLost(f"exec {command[0]}: a frame on an unknown channel")
        written[channel[0]] += content
        if sum(map(len, written.values())) > limit:
            raise OutputTooLarge(command, limit)
    raise ConnectionLost(f"exec {command[0]}: the connection closed before the command ended")


def _exit_code(content: bytes, command: Sequence[str]) -> int:
    """Return the exit code in the Status object that ends an exec."""
    status = _status(content, command)
    if status.get("status") == "Success":
        return 0
    error = error_from_status(status)
    if error.reason == "NonZeroExitCode":
        for cause in error.causes:
            if cause.reason == "ExitCode" and cause.message.isdecimal():
                return int(cause.message)
    raise error


def _status(content: bytes, command: Sequence[str]) -> JsonObject:
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict):
        raise ConnectionLost(f"exec {command[0]}: the last frame is not a Status object")
    return status
