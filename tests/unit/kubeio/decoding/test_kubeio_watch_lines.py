"""Lines and events out of a stream, however it is cut into chunks."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.errors import ConnectionLost, Gone, Malformed
from kubeio.watch import MAX_LINE, WatchEvent, events, lines
from tests.unit.kubeio.fake_api import error_event


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def read(chunks: AsyncIterator[bytes], into: list[bytes]) -> None:
    async for line in lines(chunks):
        into.append(line)  # noqa: PERF401 - what came before an error counts


@given(
    st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b""))),
    st.lists(st.integers(0, 80), max_size=8),
)
def test_lines_do_not_depend_on_how_they_are_cut(content: list[bytes], cuts: list[int]) -> None:
    body = b"".join(line + b"\n" for line in content)
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    chunks = [body[start:end] for start, end in itertools.pairwise(edges)]

    found: list[bytes] = []
    asyncio.run(read(stream(*chunks), found))
    assert found == [line for line in content if line]


async def test_a_line_of_megabytes_is_read() -> None:
    big = b"x" * (5 * 2**20)
    chunks = [big[start : start + 2**16] for start in range(0, len(big), 2**16)]
    assert [line async for line in lines(stream(*chunks, b"\n", b"y\n"))] == [big, b"y"]


async def test_an_endless_line_is_given_up() -> None:
    chunks = [b"x" * 2**20] * (MAX_LINE // 2**20 + 1)
    with pytest.raises(ConnectionLost, match="longer than"):
        await read(stream(*chunks), [])


async def test_a_stream_cut_inside_a_line_is_a_lost_connection() -> None:
    seen: list[bytes] = []
    with pytest.raises(ConnectionLost, match="middle of an event"):
        await read(stream(b"a\nb"), seen)
    assert seen == [b"a"]


async def collect(*chunks: bytes) -> list[WatchEvent]:
    return [event async for event in events(stream(*chunks), "GET /x")]


async def test_events_are_handed_on() -> None:
    line = orjson.dumps({"type": "ADDED", "object": {"a": 1}})
    assert await collect(line, b"\n\n") == [WatchEvent("ADDED", {"a": 1})]


@pytest.mark.parametrize(
    "line",
    [b"<html>\n", b"3\n", b"{}\n", b'{"type":1,"object":{}}\n', b'{"type":"A","object":1}\n'],
)
async def test_what_is_no_event_is_malformed(line: bytes) -> None:
    with pytest.raises(Malformed, match="not a watch event"):
        await collect(line)


async def test_an_error_event_is_raised() -> None:
    with pytest.raises(Gone):
        await collect(error_event(410, "Expired"))


async def test_an_event_of_many_levels_does_not_end_the_watch_for_all() -> None:
    deep = b'{"metadata":{"name":"n"},"content":' + b'{"a":' * 5000 + b"1" + b"}" * 5001
    [event, other] = await collect(
        b'{"type":"ADDED","object":' + deep + b"}\n", b'{"type":"ADDED","object":{"b":1}}\n'
    )
    assert event.object["metadata"] == {"name": "n"}
    assert other.object == {"b": 1}
