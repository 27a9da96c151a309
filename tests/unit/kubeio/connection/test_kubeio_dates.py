"""The Date of answers: which the client keeps, and which forms of it are read."""

from contextlib import aclosing, suppress
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kubeio.client import Client
from kubeio.connection.round_tripper import ServerDate
from kubeio.errors import NotFound
from tests.unit.kubeio.fake_api import WIDGET, FakeApi, Fault

TEXT = "Mon, 23 Nov 2026 06:40:00 GMT"
OBJECT = "/apis/example.dev/v1/namespaces/ns/widgets/a"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("soon", id="no date"),
        pytest.param("Monday, 23-Nov-26 06:40:00 GMT", id="the form of RFC 850"),
        pytest.param("Mon Nov 23 06:40:00 2026", id="the form of asctime"),
        pytest.param("Mon, 23 Nov 2026 06:40:00 CET", id="another zone"),
        pytest.param("Mon, 31 Feb 2026 06:40:00 GMT", id="no such day"),
        pytest.param("2026-11-23T06:40:00Z", id="RFC 3339"),
    ],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ServerDate(text, 0.0).parse()


@given(st.text())
def test_whatever_a_server_sends_is_a_time_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert ServerDate(text, 0.0).parse().tzinfo is UTC


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_that_is_written_is_read_to_the_second(moment: datetime) -> None:
    assert ServerDate(format_datetime(moment, usegmt=True), 0.0).parse() == moment.replace(
        microsecond=0
    )


def dated(text: str, status: int = 200) -> Fault:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"metadata": {"name": "a"}}, status=status, headers={"Date": text})

    return answer


def date_of(client: Client) -> str:
    assert client.last_date is not None
    assert client.last_date.received_at > 0
    return client.last_date.text


async def test_before_the_first_answer_there_is_none(client: Client) -> None:
    assert client.last_date is None


async def test_the_date_of_an_answer_is_kept(api: FakeApi, client: Client) -> None:
    api.handlers = {OBJECT: dated(TEXT)}
    await client.get(WIDGET, "a", namespace="ns")
    assert date_of(client) == TEXT


async def test_the_date_of_a_refusal_is_kept(api: FakeApi, client: Client) -> None:
    api.handlers = {OBJECT: dated(TEXT, 404)}
    with pytest.raises(NotFound):
        await client.get(WIDGET, "a", namespace="ns")
    assert date_of(client) == TEXT


async def test_the_date_of_a_list_is_kept(api: FakeApi, client: Client) -> None:
    api.put("a")
    await client.list(WIDGET)
    assert date_of(client).endswith(" GMT")


async def test_the_date_of_a_watch_is_kept(api: FakeApi, client: Client) -> None:
    api.put("a")
    async with aclosing(client.watch(WIDGET, resource_version="1")) as events:
        await anext(events)
    assert date_of(client).endswith(" GMT")


async def test_an_answer_without_a_readable_date_is_kept_as_it_came(
    api: FakeApi, client: Client
) -> None:
    api.handlers = {OBJECT: dated("soon")}
    await client.get(WIDGET, "a", namespace="ns")
    assert date_of(client) == "soon"


async def test_within_a_second_no_other_date_is_read(api: FakeApi, client: Client) -> None:
    api.handlers = {OBJECT: dated(TEXT)}
    await client.get(WIDGET, "a", namespace="ns")
    first = client.last_date
    assert first is not None
    await client.get(WIDGET, "a", namespace="ns")
    assert client.last_date is first
