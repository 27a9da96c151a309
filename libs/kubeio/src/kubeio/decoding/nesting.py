"""Decodes JSON that is nested too deeply for decoders, by dropping the levels below a limit.

The API server accepts objects with 10,000 levels, decoders fail at about 1,000. One such object
would end a list or watch of all objects of its kind.
"""

import asyncio
import re
from typing import Final

import orjson

from kubeio.types import Json

DEPTH: Final = 200
"""Levels that are kept; no kind of Kubernetes has as many."""

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]"]', re.DOTALL)
_SHARE: Final = 20_000  # tokens read before other tasks run


async def decode(text: str) -> Json:
    """Decode JSON; if it is nested too deeply, values below ``DEPTH`` levels become null.

    Raises:
        orjson.JSONDecodeError: the text is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # The decoder does not report the cause. Searching costs another pass, which is rare.
        found = await shallow(text, 0)
        if found is None:
            raise
        return orjson.loads(found[0] + text[found[1] :])


async def shallow(text: str, begin: int) -> tuple[str, int] | None:
    """Return the object or list at ``begin`` without its deepest levels, and where it ends.

    None if its end is missing; the rest may still arrive.
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
