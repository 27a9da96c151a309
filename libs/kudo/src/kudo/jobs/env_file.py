"""The job `env_file`: the values of an env file that a Pipe task copied, up to 1 MiB."""

from typing import Final, cast

import orjson

from kudo.tasks.pipe import EnvFileError, parse_env_file

NAME: Final = "env_file"
_INLINE_SIZE: Final = 64 << 10


def is_small(content: bytes) -> bool:
    """Return whether an event loop can read the file: 64 KiB of short lines take about 10 ms."""
    return len(content) <= _INLINE_SIZE


def handle(content: bytes) -> bytes:
    """Return the values by key, or the text of what is wrong."""
    try:
        return orjson.dumps(parse_env_file(content))
    except EnvFileError as error:
        return orjson.dumps(str(error))


def decode_answer(answer: bytes) -> dict[str, str]:
    """Return the values by key.

    Raises:
        EnvFileError: as the worker raised it.
    """
    values = orjson.loads(answer)
    if isinstance(values, str):
        raise EnvFileError(values)
    return cast("dict[str, str]", values)
