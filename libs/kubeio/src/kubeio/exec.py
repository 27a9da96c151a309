"""Commands in containers, over a websocket to the API server.

    GET .../pods/NAME/exec  ->  101  ->  frames: one byte of channel, then bytes  ->  exit code

Invariants: bytes arrive as the command wrote them, output and errors apart; what comes is bounded
in size and time; a connection that ends before the exit code is known is lost, never a success.
There is neither a terminal nor an input. The command may have begun whenever an error is raised
but ``ConnectionLost`` with ``maybe_sent`` False and refusals by the API server.
"""

from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from kubeio.errors import ConnectionLost, KubeError, error_from_status
from kubeio.types import JsonObject

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""They differ only in the input, which we never send."""
_STDOUT, _STDERR, _STATUS = 1, 2, 3


class OutputTooLarge(KubeError):
    """A command wrote more than its caller takes; it was left alone from then on.

    Attributes:
        limit: Bytes of output and errors together.
    """

    def __init__(self, command: Sequence[str], limit: int) -> None:
        self.limit = limit
        super().__init__(f"{command[0]} wrote more than {limit} bytes")


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended; an exit code other than 0 is a result, too."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def exec_query(container: str, command: Sequence[str]) -> list[tuple[str, str]]:
    """Return the query of an exec; the arguments of the command repeat their key."""
    options = [("container", container), ("stdout", "true"), ("stderr", "true")]
    return [*options, *(("command", argument) for argument in command)]


async def read_result(
    frames: AsyncIterable[bytes], command: Sequence[str], limit: int
) -> ExecResult:
    """Collect what a command writes until it has ended.

    Raises:
        ApiError: it could not be run, such as a program that the container does not have.
        ConnectionLost: the frames end before the exit code, or are no frames of an exec.
        OutputTooLarge: it wrote more than `limit` bytes.
    """
    written = {_STDOUT: bytearray(), _STDERR: bytearray()}
    async for frame in frames:
        channel, content = frame[:1], frame[1:]
        if channel == bytes([_STATUS]):
            code = _exit_code(content, command)
            return ExecResult(code, bytes(written[_STDOUT]), bytes(written[_STDERR]))
        if not channel or channel[0] not in written:
            raise ConnectionLost(f"exec {command[0]}: a frame of no known channel")
        written[channel[0]] += content
        if sum(map(len, written.values())) > limit:
            raise OutputTooLarge(command, limit)
    raise ConnectionLost(f"exec {command[0]}: the connection ended before the command")


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
        raise ConnectionLost(f"exec {command[0]}: no status at its end")
    return status
