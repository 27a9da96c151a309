"""Lists read item by item: however the answer is cut, whatever stands in it, in little memory."""

import asyncio
import itertools
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.errors import ConnectionLost
from kubeio.listing import Page, read_page
from kubeio.types import Json, JsonObject
from kubeio.watch import MAX_LINE

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=10,
)


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def same(item: Json) -> JsonObject:
    found: JsonObject = item
    return found


async def read(*chunks: bytes) -> Page:
    return await read_page(pieces(*chunks), "GET /widgets", same)


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


@given(
    st.lists(_JSON, max_size=4),
    st.dictionaries(st.text(max_size=5), _JSON, max_size=3),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 300), max_size=8),
)
def test_a_list_does_not_depend_on_how_it_is_cut(
    items: list[Any], metadata: JsonObject, metadata_last: bool, pretty: bool, cuts: list[int]
) -> None:
    content = {"kind": "List", "number": 12, "metadata": metadata, "items": items, "x": "["}
    ordered = dict(sorted(content.items())) if metadata_last else content
    body = orjson.dumps(ordered, option=orjson.OPT_INDENT_2 if pretty else None)
    edges = [0, *sorted(min(at, len(body)) for at in cuts), len(body)]
    chunks = [body[start:end] for start, end in itertools.pairwise(edges)]

    page = asyncio.run(read(*chunks))

    assert (page.items, page.metadata) == (items, metadata)
    assert page.characters == len(body.decode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"[]",
        b"null",
        b"<html>try later</html>",
        b'{"items":[{}',
        b'{"items":[{}]',
        b'{"items":[{},]}',
        b'{"items":[{}{}]}',
        b'{"items":[],}',
        b'{"items":[NaN]}',
        b'{"items":[]}{}',
        b'{"items" []}',
        b'{"items":[{"a":"\xff"}]}',
        b'{"items":[' + b'{"a":' * 100_000,
        b'{"items":[' + b"[" * 2000 + b"}" * 2000 + b"]}",
    ],
)
@pytest.mark.parametrize("size", [1, 7, 2**20])
async def test_what_is_no_list_is_a_lost_connection(body: bytes, size: int) -> None:
    if size * 10_000 < len(body):
        size = 64
    with pytest.raises(ConnectionLost, match="GET /widgets"):
        await read(*cut(body, size))


async def test_an_error_page_is_quoted_and_an_item_is_not() -> None:
    with pytest.raises(ConnectionLost, match="try later"):
        await read(b"<html>try later</html>")
    with pytest.raises(ConnectionLost, match="character 34") as lost:
        await read(b'{"items":[{"data":{"p":"s3cret"}} {"data":{"p":"s3cret"}}]}')
    assert "s3cret" not in str(lost.value)


async def test_a_list_without_items_has_none() -> None:
    assert (await read(b'{"metadata":{}}')).items is None
    assert (await read(b'{"items":{}}')).items is None
    assert (await read(b'{"items":null,"metadata":{}}')).items == []


async def test_an_endless_item_is_given_up() -> None:
    chunks = [b'{"items":["', *[b"x" * 2**20] * (2 * MAX_LINE // 2**20 + 2)]
    with pytest.raises(ConnectionLost, match=f"longer than {MAX_LINE}"):
        await read(*chunks)


async def test_large_items_are_found_in_small_chunks() -> None:
    items = [{"name": str(n), "text": "{[" * 300_000} for n in range(3)]
    assert (await read(*cut(orjson.dumps({"items": items}), 1000))).items == items


@pytest.mark.parametrize("size", [1000, 2**20])
@pytest.mark.parametrize("levels", [100, 500, 990, 1030, 10_000])
async def test_an_object_of_many_levels_does_not_end_the_list_for_all(
    levels: int, size: int
) -> None:
    name, text = b'{"metadata":{"name":"n"},"content":', b'"] }\\" {"'
    deep = name + b'{"a":[' * (levels // 2) + text + b"]}" * (levels // 2) + b',"last":1}'
    body = b'{"items":[{"a":1},' + deep + b',{"b":2}],"metadata":{}}'

    items = (await read(*cut(body, size))).items

    assert items is not None
    before, found, after = items
    assert (before, after) == ({"a": 1}, {"b": 2})
    assert (found["metadata"], found["last"]) == ({"name": "n"}, 1)


async def test_others_run_between_items() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    items = [{"a": "x" * 1000}] * 2000
    # All of it at once: nothing in here waits for the network.
    await read(orjson.dumps({"items": items}))
    counting.cancel()
    assert turns >= 20


async def test_no_more_than_one_item_is_held_decoded() -> None:
    many = b'{"metadata":{"name":"n"},"spec":{"parameters":[' + b"{}," * 20_000 + b"{}]}}"
    body = b'{"apiVersion":"v1","items":[' + b",".join([many] * 10) + b'],"metadata":{}}'

    def counted(item: Json) -> JsonObject:
        return {"parameters": len(item["spec"]["parameters"])}

    def peak_of(work: Any) -> int:
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    chunks = cut(body, 16 * 1024)

    async def streamed() -> Page:
        return await read_page(pieces(*chunks), "GET /widgets", counted)

    loop = asyncio.new_event_loop()
    try:
        one = peak_of(lambda: orjson.loads(many))
        all_at_once = peak_of(lambda: orjson.loads(body))
        ours = await asyncio.to_thread(peak_of, lambda: loop.run_until_complete(streamed()))
    finally:
        loop.close()
    assert ours < 3 * one < all_at_once / 3
