"""/debug/namespaces: what it reports, in which form, and how much it keeps."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import aiohttp
import orjson
import pytest

from serving.namespaces import (
    Measure,
    Tally,
    as_text,
    debug_app,
    debug_option,
    report,
    serve_debug,
)
from serving.settings import parse


async def get(measures: list[Measure], path: str, query: bytes = b"") -> tuple[int, bytes]:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": query}
    await debug_app(lambda: measures)(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


def test_a_report_has_the_twenty_namespaces_with_most_and_the_total_of_all() -> None:
    values = {f"team-{number}": number for number in range(30)}
    [found] = report([Measure("jobs", lambda: values)], 7.4)["measures"]
    assert found["top"][0] == {"namespace": "team-29", "value": 29}
    assert [one["value"] for one in found["top"]] == list(range(29, 9, -1))
    # One of the thirty uses nothing.
    assert (found["total"], found["namespaces"], found["forgotten"]) == (sum(range(30)), 29, 0)


async def test_it_answers_in_json_and_in_text() -> None:
    measures = [Measure("jobs", lambda: {"a": 2, "b": 0.5}), Measure("events", dict)]
    status, body = await get(measures, "/debug/namespaces")
    assert (status, orjson.loads(body)) == (
        200,
        {
            "uptimeSeconds": 0,
            "measures": [
                {
                    "name": "jobs",
                    "total": 2.5,
                    "forgotten": 0,
                    "namespaces": 2,
                    "top": [{"namespace": "a", "value": 2}, {"namespace": "b", "value": 0.5}],
                },
                {"name": "events", "total": 0, "forgotten": 0, "namespaces": 0, "top": []},
            ],
        },
    )
    status, body = await get(measures, "/debug/namespaces", b"format=text")
    assert body.decode().splitlines()[1:] == [
        "jobs: 2.5 in 2 namespaces",
        "  2          a",
        "  0.5        b",
        "events: 0 in 0 namespaces",
    ]


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/debug/namespaces/"])
async def test_it_answers_nothing_else(path: str) -> None:
    assert (await get([], path))[0] == 404


def test_a_table_forgets_whom_it_counted_longest_ago_but_not_the_total() -> None:
    tally = Tally()
    tally.add("first", 5)
    tally.add("second", 3)
    tally.add("first")
    for number in range(999):
        tally.add(f"other-{number}")
    [found] = report([Measure.of("jobs", tally)], 0)["measures"]
    assert found["top"][0] == {"namespace": "first", "value": 6}
    assert "second" not in tally.sums()
    assert (found["total"], found["forgotten"], found["namespaces"]) == (6 + 3 + 999, 3, 1000)


def test_what_is_no_namespace_is_cut_and_shown_without_control_characters() -> None:
    tally = Tally()
    tally.add("\x1b[2J" + "x" * 100_000, 2)
    tally.add("", 1)
    assert max(map(len, tally.sums())) == 63
    text = as_text(report([Measure.of("jobs", tally)], 0))
    assert "\x1b" not in text
    assert r"'\x1b[2Jxxx" in text
    assert "  1          ''" in text


async def test_port_0_is_no_port() -> None:
    loop = asyncio.get_running_loop()
    started: asyncio.Future[int] = loop.create_future()
    stop = asyncio.Event()
    measures = [Measure("jobs", lambda: {"a": 1})]
    serving = asyncio.create_task(
        serve_debug(lambda: measures, port=0, stop=stop, on_started=started.set_result)
    )
    await serving
    assert not started.done()


async def test_it_is_served_on_its_port(unused_tcp_port: int) -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    measures = [Measure("jobs", lambda: {"a": 1})]
    serving = asyncio.create_task(
        serve_debug(
            lambda: measures, port=unused_tcp_port, stop=stop, on_started=started.set_result
        )
    )
    url = f"http://127.0.0.1:{await started}/debug/namespaces"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert (await response.json())["measures"][0]["total"] == 1
    stop.set()
    await serving


def test_by_default_there_is_no_such_port() -> None:
    found = parse([debug_option("X_")], prog="x", description="", argv=[], environ={})
    assert found.debug_port == 0
