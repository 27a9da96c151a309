"""Decodes a list item by item while its chunks arrive.

Decoded as a whole, a page of 500 objects needs 10 to 60 times the size of its JSON before the first
object can be made smaller. Here memory holds only the text of the current item, that item decoded,
and what `each` returned for the items before. `metadata` may come before or after `items`: typed
lists send it first, lists of custom resources last.
"""

import asyncio
import codecs
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final, NoReturn

import orjson

from kubeio.errors import ConnectionLost
from kubeio.types import Json, JsonObject
from kubeio.watch import MAX_LINE, decode, shallow

_SHARE: Final = 64 * 1024  # characters decoded before other tasks run
_BLANKS: Final = " \t\r\n"
_OPEN_ENDED: Final = "0123456789eE.+-"  # a number that ends so may continue in the next chunk


@dataclass(slots=True)
class Page:
    """One page of a list; ``items`` is None if the answer had none, ``characters`` its length."""

    items: list[JsonObject] | None = None
    metadata: Json = None
    characters: int = 0


async def read_page(
    chunks: AsyncIterable[bytes], subject: str, each: Callable[[Json], JsonObject]
) -> Page:
    """Read one page of a list.

    ``each`` is called with each item before the next one is decoded; ``subject`` is for errors.

    Raises:
        ConnectionLost: the body is not a JSON object, was cut off, or has an item longer than
            `watch.MAX_LINE` characters.
    """
    return await _Reader(aiter(chunks), subject, each).page()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Returns where a value ends; orjson cannot.
_decode: Final = json.JSONDecoder(parse_constant=_no_constant).raw_decode


@dataclass(slots=True)
class _Reader:
    chunks: AsyncIterator[bytes]
    subject: str
    each: Callable[[Json], JsonObject]
    text: str = ""
    at: int = 0
    complete: bool = False
    since_yield: int = 0
    characters: int = 0
    utf8: codecs.IncrementalDecoder = field(
        default_factory=codecs.getincrementaldecoder("utf-8"),
    )

    async def page(self) -> Page:
        page = Page()
        await self._expect("{")
        mark = await self._mark()
        while mark != "}":
            key = await self._value()
            await self._expect(":")
            if key == "items" and await self._mark() == "[":
                page.items = await self._items()
            else:
                value = await self._value()
                if key == "metadata":
                    page.metadata = value
                elif key == "items" and value is None:
                    # Go writes an empty list that was never made as null.
                    page.items = []
            mark = await self._next_of("}")
        self.at += 1
        while not self.complete:
            await self._read_on()
        # Anything but white space after the end is no JSON document any more.
        if self.text[self.at :].strip(_BLANKS):
            self._unreadable()
        page.characters = self.characters
        return page

    async def _items(self) -> list[JsonObject]:
        self.at += 1
        items: list[JsonObject] = []
        mark = await self._mark()
        while mark != "]":
            items.append(self.each(await self._value()))
            mark = await self._next_of("]")
        self.at += 1
        return items

    async def _next_of(self, closing: str) -> str:
        """Skip a comma; return the next character, or `closing`."""
        mark = await self._mark()
        if mark == closing:
            return mark
        await self._expect(",")
        mark = await self._mark()
        return self._unreadable() if mark == closing else mark

    async def _expect(self, character: str) -> None:
        if await self._mark() != character:
            self._unreadable()
        self.at += 1

    async def _mark(self) -> str:
        """Skip white space; return the next character."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _BLANKS:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if self.complete:
                raise ConnectionLost(f"{self.subject}: the answer ended in the middle of a list")
            await self._read_on()

    async def _value(self) -> Json:
        """Decode the value at the current position."""
        text = await self._text_of_value()
        await self._yield_at_times()
        try:
            # Decoded again, by orjson: it shares the strings of field names among all objects,
            # while json, which found the end of the value, shares them only within one.
            return await decode(text)
        except orjson.JSONDecodeError:
            self._unreadable()

    async def _text_of_value(self) -> str:
        await self._mark()
        while True:
            await self._yield_at_times()
            extent = await self._found()
            if extent is not None:
                text, end = extent
                self.since_yield += end - self.at
                self.at = end
                return text
            # Usually the rest has not arrived yet; `_read_on` bounds the cost of repeated attempts.
            if self.complete:
                self._unreadable()
            await self._read_on()

    async def _found(self) -> tuple[str, int] | None:
        """Return the text of the value at this position and its end; None if it is incomplete."""
        try:
            end = _decode(self.text, self.at)[1]
        except RecursionError:
            return await shallow(self.text, self.at)
        except ValueError:
            return None
        if end == len(self.text) and self.text[end - 1] in _OPEN_ENDED and not self.complete:
            return None
        return self.text[self.at : end], end

    async def _yield_at_times(self) -> None:
        if self.since_yield >= _SHARE:
            self.since_yield = 0
            await asyncio.sleep(0)

    async def _read_on(self) -> None:
        """Read chunks until the unread text has doubled, or the answer ends.

        One attempt to decode a value for each chunk would cost the square of its length. With
        doubling, all attempts together cost at most twice as much as the last one.
        """
        rest = self.text[self.at :]
        if len(rest) > MAX_LINE:
            text = f"an item is longer than {MAX_LINE} characters"
            raise ConnectionLost(f"{self.subject}: {text}")
        self.since_yield += len(rest)
        parts, more = [rest], 0
        while not self.complete and more <= len(rest):
            chunk = await anext(self.chunks, None)
            self.complete = chunk is None
            try:
                parts.append(self.utf8.decode(chunk or b"", final=self.complete))
            except UnicodeDecodeError as error:
                raise ConnectionLost(f"{self.subject}: the answer is not UTF-8") from error
            more += len(parts[-1])
        self.characters += more
        self.text, self.at = "".join(parts), 0

    def _unreadable(self) -> NoReturn:
        # Only the beginning of an answer is quoted (it may be the error page of a proxy), never a
        # later part: an item may be a Secret.
        offset = self.characters - len(self.text) + self.at
        what = f"character {offset} is unexpected" if offset else repr(self.text[:100])
        raise ConnectionLost(f"{self.subject}: not a Kubernetes list: {what}")
