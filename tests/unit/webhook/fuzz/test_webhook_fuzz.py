"""Nothing that is sent to a route makes it fail, or shows a parameter's value in logs or metrics.

`make properties` sends far more.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kudo.api import JsonObject
from tests.support.selection.properties import examples
from tests.unit.webhook.fuzz.contract import (
    Client,
    assert_metrics_are_ours,
    judged,
    log_lines,
    routes,
    well_formed,
)
from tests.unit.webhook.fuzz.inputs import (
    CANARY,
    INSTANCES,
    VERSIONS,
    Sent,
    requests,
    reviews,
)
from tests.unit.webhook.harness import VALIDATE, DictVersions, review, running
from tests.unit.webhook.vectors.http import patched

pytestmark = pytest.mark.hypothesis


def _settings(few: int, deep: int) -> settings:
    return settings(
        max_examples=examples(few, deep=deep),
        deadline=None,
        print_blob=False,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


async def fuzzed(tmp_path: Path, check: Callable[[Client], Callable[[], None]]) -> None:
    """Run a webhook, a hypothesis test against it in a thread, and look at what it left behind."""
    versions = DictVersions(dict(VERSIONS))
    with log_lines() as lines:
        async with running(tmp_path, versions, request_deadline=60.0) as webhook:
            client = Client(webhook, asyncio.get_running_loop(), lines)
            await asyncio.to_thread(check(client))
            status, metrics = await webhook.probe("/metrics")
    assert status == 200
    assert_metrics_are_ours(metrics)


async def test_no_request_makes_a_route_fail_or_shows_a_value(
    tmp_path: Path,
) -> None:
    def check(client: Client) -> Callable[[], None]:
        @_settings(30, deep=40_000)
        @given(requests, st.sampled_from(routes()))
        def answered(sent: Sent, path: str) -> None:
            status, _ = client.send(sent, path)
            if not well_formed(sent.body):
                assert status == 400

        return answered

    await fuzzed(tmp_path, check)


async def test_every_review_is_answered_for_its_uid_and_what_passes_mutation_passes_validation(
    tmp_path: Path,
) -> None:
    def check(client: Client) -> Callable[[], None]:
        @_settings(30, deep=25_000)
        @given(reviews(), st.sampled_from(routes()))
        def answered(asked: JsonObject, path: str) -> None:
            body = json.dumps(asked).encode()
            status, answer = client.send(Sent(body), path)
            assert (status == 200) == well_formed(body)
            if status == 200:
                response = answer["response"]
                assert answer["apiVersion"] == asked["apiVersion"]
                assert response["uid"] == asked["request"]["uid"]
                assert response["allowed"] or judged(asked["request"])
                _assert_patch_is_sound(client, asked, response, path)

        return answered

    await fuzzed(tmp_path, check)


def _assert_patch_is_sound(
    client: Client, asked: JsonObject, response: JsonObject, path: str
) -> None:
    request = asked["request"]
    if path == VALIDATE or not judged(request) or not response["allowed"]:
        assert "patch" not in response
        return
    final = patched(request["object"], response)
    again = {**asked, "request": {**request, "object": final}}
    _, second = client.send(Sent(json.dumps(again).encode()), VALIDATE)
    assert second["response"]["allowed"], second


OUTSIDE: tuple[JsonObject, ...] = (
    {"operation": "DELETE"},
    {"operation": "CONNECT"},
    {"subResource": "status"},
    {"resource": INSTANCES | {"resource": "operators"}},
)


async def test_objects_that_are_not_judged_pass_whatever_they_hold(tmp_path: Path) -> None:
    anything = st.recursive(
        st.none() | st.booleans() | st.integers(0, 9) | st.just(CANARY),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=4,
    )

    def check(client: Client) -> Callable[[], None]:
        @_settings(16, deep=5_000)
        @given(anything, anything, st.sampled_from(OUTSIDE), st.sampled_from(routes()))
        def passes(new: Any, old: Any, fields: JsonObject, path: str) -> None:
            asked = review(new, old, **fields)
            status, answer = client.send(Sent(json.dumps(asked).encode()), path)
            assert (status, answer["response"]) == (200, {"uid": "u-1", "allowed": True})

        return passes

    await fuzzed(tmp_path, check)
