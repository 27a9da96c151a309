"""JSON that is nested deeper than decoders read: what lies too deep is left out.

The API server takes objects of 10,000 levels, decoders end at about 1,000. In a list or a watch of
everybody's objects one such object would be the end of it for all.
"""

import asyncio
import re
from typing import Final

import orjson

from kubeio.types import Json

DEPTH: Final = 200
"""Levels that are kept. No kind of Kubernetes has as many."""

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]"]', re.DOTALL)
_SHARE: Final = 20_000  # tokens looked at before other tasks get a turn


async def decode(text: str) -> Json:
    """Decode JSON; what is nested too deeply to be decoded becomes null below ``DEPTH`` levels.

    Raises:
        orjson.JSONDecodeError: it is no JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # The decoder does not say why. Looking for it costs as much again, and is rare.
        found = await shallow(text, 0)
        if found is None:
            raise
        return orjson.loads(found[0] + text[found[1] :])


async def shallow(text: str, begin: int) -> tuple[str, int] | None:
    """Return the object or list that begins here without what lies too deep, and where it ends.

    None if it does not end, so that the rest of it may still come.
    """
    depth, kept = 0, begin
    parts: list[str] = []
    for number, token in enumerate(_TOKEN.finditer(text, begin), 1):
        if number % _SHARE == 0:
            await asyncio.sleep(0)
        mark = token[0]
        if mark in ("{", "["):
            depth += 1
            if depth == DEPTH + 1:
                parts += (text[kept : token.start()], "null")
        elif mark in ("}", "]"):
            depth -= 1
            if depth == DEPTH:
                kept = token.end()
            elif depth <= 0:
                return "".join((*parts, text[kept : token.end()])), token.end()
        elif mark == '"':
            return None
    return None
