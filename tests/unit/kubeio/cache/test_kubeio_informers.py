"""Informers started on demand: shared, refused, stopped."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from kubeio.cache.informers import Informers
from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.errors import Forbidden, ServerError
from tests.unit.kubeio.fake_api import WIDGET, FakeApi, refuse, until


@asynccontextmanager
async def informers(client: Client, **options: Any) -> AsyncIterator[Informers]:
    async with asyncio.TaskGroup() as group:
        made = Informers(client, group, **options)
        yield made
        made.stop(WIDGET)


async def test_the_first_to_ask_starts_it_and_others_share_it(api: FakeApi, client: Client) -> None:
    api.put("a")
    async with informers(client) as made:
        first, second = await asyncio.gather(made.get(WIDGET), made.get(WIDGET))
        assert first is second
        assert len(first) == 1
        other = await made.get(WIDGET, label_selector="a=b", metadata_only=True)
        assert other is not first
        assert made.running() == [first, other]
    assert len(api.lists) == 2


async def test_changes_and_phases_are_told_with_their_resource(
    api: FakeApi, client: Client
) -> None:
    changes: list[str] = []
    phases: list[str] = []
    async with informers(
        client,
        on_change=lambda resource, change: changes.append(f"{resource.plural} {change.kind}"),
        on_status=lambda resource, status: phases.append(f"{resource.plural} {status.phase}"),
    ) as made:
        await made.get(WIDGET)
        api.put("a")
        await until(lambda: changes)
    assert changes == ["widgets added"]
    assert phases[:3] == ["widgets listing", "widgets opening", "widgets watching"]


async def test_a_refusal_is_raised_and_remembered_for_a_while(api: FakeApi, client: Client) -> None:
    now = [0.0]
    api.list_faults.append(refuse(403, "Forbidden"))
    async with informers(client, refusal_ttl=10.0, clock=lambda: now[0]) as made:
        for at in (0.0, 9.0):
            now[0] = at
            with pytest.raises(Forbidden):
                await made.get(WIDGET)
        assert made.running() == []
        assert len(api.lists) == 1
        now[0] = 10.0
        assert (await made.get(WIDGET)).has_synced


async def test_all_who_wait_hear_of_a_refusal(api: FakeApi, client: Client) -> None:
    api.list_faults.append(refuse(403, "Forbidden"))
    async with informers(client) as made:
        results = await asyncio.gather(
            *(made.get(WIDGET) for _ in range(3)), return_exceptions=True
        )
    assert [type(one) for one in results] == [Forbidden] * 3


async def test_a_list_that_fails_is_retried_beside_its_callers(
    api: FakeApi, client: Client
) -> None:
    api.put("a")
    api.list_faults.append(refuse(500, "InternalError", **{"Retry-After": "0.2"}))
    async with informers(client, sync_timeout=0.1) as made:
        informer = await made.get(WIDGET)
        assert not informer.has_synced
        assert isinstance(informer.error, ServerError)
        await until(lambda: informer.has_synced)
        again = await made.get(WIDGET)
        assert again is informer
        assert len(again) == 1
    assert len(api.lists) == 2


async def test_once_the_time_of_a_first_list_is_over_nobody_waits_for_it(
    api: FakeApi, client: Client
) -> None:
    answer, now = asyncio.Event(), [0.0]

    async def slow(request: web.Request) -> web.StreamResponse:
        await answer.wait()
        return await api.answer_list(request)

    api.list_faults.append(slow)
    async with informers(client, sync_timeout=60.0, clock=lambda: now[0]) as made:
        first = asyncio.create_task(made.get(WIDGET))
        await until(lambda: api.lists)
        assert not first.done()
        now[0] = 60.0
        async with asyncio.timeout(5):
            waiting = [await made.get(WIDGET) for _ in range(3)]
        assert [one.has_synced for one in waiting] == [False] * 3
        answer.set()
        informer = await first
        assert informer is waiting[0]
        assert informer.has_synced
    assert len(api.lists) == 1


async def test_a_refusal_that_comes_late_is_told_to_who_asks_next(
    api: FakeApi, client: Client
) -> None:
    api.list_faults.append(refuse(500, "InternalError", **{"Retry-After": "0.01"}))
    api.list_faults.append(refuse(403, "Forbidden", **{"Retry-After": "60"}))
    async with informers(client, sync_timeout=0.0) as made:
        informer = await made.get(WIDGET)
        await until(lambda: isinstance(informer.error, Forbidden))
        with pytest.raises(Forbidden):
            await made.get(WIDGET)
        assert made.running() == []


async def test_a_remembered_refusal_does_not_grow_with_each_who_hears_it(
    api: FakeApi, client: Client
) -> None:
    api.list_faults.append(refuse(403, "Forbidden"))
    async with informers(client) as made:
        depths = []
        for _ in range(4):
            with pytest.raises(Forbidden) as caught:
                await made.get(WIDGET)
            depths.append(len(traceback.extract_tb(caught.tb)))
    assert depths[1] == depths[2] == depths[3]


async def test_all_of_them_take_silence_for_death_when_they_are_told_to(
    api: FakeApi, client: Client
) -> None:
    timing = Timing(idle=0.05, backoff=(0.01, 0.05), steady=0.01)
    async with informers(client, timing=timing) as made:
        await made.get(WIDGET)
        await made.get(WIDGET, label_selector="a=b")
        await until(lambda: len(api.watches) >= 6)
    assert {one.query.get("labelSelector") for one in api.watches} == {None, "a=b"}
    assert len(api.lists) == 2


async def test_a_stopped_informer_is_started_anew(api: FakeApi, client: Client) -> None:
    async with informers(client) as made:
        first = await made.get(WIDGET)
        made.stop(WIDGET)
        assert await made.get(WIDGET) is not first
    await until(lambda: not api.watchers)
