"""What the routes answer to what no API server sends, and to what takes too long."""

import asyncio
import itertools
import json
import logging
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from tests.unit.webhook.harness import (
    DictVersions,
    Replaced,
    Webhook,
    first_operator,
    instance,
    review,
    running,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


def changed(**fields: Any) -> bytes:
    request = review(instance())
    request["request"].update(fields)
    return orjson.dumps(request)


async def test_what_is_no_admission_review_is_answered_with_400_and_a_reason(
    webhook: Webhook,
) -> None:
    for body in (b"", b"{", b"[]", b"{}", changed(uid=""), changed(object=[])):
        status, answer = await webhook.send(body)
        assert status == 400
        assert (answer["kind"], answer["code"]) == ("Status", 400)
        assert answer["reason"] == "BadRequest"
        assert answer["message"]


async def test_no_shape_of_the_object_makes_the_webhook_fail(webhook: Webhook) -> None:
    values: tuple[Any, ...] = (None, "text", 7, ["list"], {"parameters": 7}, {"planExecution": []})
    for field, value in itertools.product(("metadata", "spec", "status"), values):
        odd = {**instance(), field: value}
        for old in (None, instance(), odd):
            response = await webhook.ask(review(odd, old))
            assert response["allowed"] or response["status"]["code"] < 500, response


async def test_nothing_but_the_two_routes_is_served(webhook: Webhook) -> None:
    for path in ("/", "/docs", "/openapi.json", "/redoc", "/metrics"):
        async with webhook.session.get(webhook.url + path) as answer:
            assert answer.status == 404


async def test_a_decision_that_takes_too_long_is_a_denial_in_time(tmp_path: Path) -> None:
    versions = DictVersions(gate=asyncio.Event())
    async with running(tmp_path, versions, request_deadline=0.05) as webhook:
        status = (await webhook.ask(review(instance())))["status"]
    assert (status["code"], status["reason"]) == (504, "DeadlineExceeded")


async def test_a_body_that_does_not_arrive_is_given_up(tmp_path: Path) -> None:
    body_never_ends = asyncio.Event()

    async def chunks() -> Any:
        yield b"{"
        await body_never_ends.wait()

    async with running(tmp_path, request_deadline=0.05) as webhook:
        url = webhook.url + "/mutate-kudo-dev-v1beta1-instance"
        async with webhook.session.post(url, data=chunks()) as answer:
            assert answer.status == 408
            assert orjson.loads(await answer.read())["reason"] == "RequestTimeout"


async def test_a_client_that_goes_away_leaves_no_traceback(
    webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    gone = asyncio.Event()

    async def chunks() -> Any:
        yield b"{"
        await gone.wait()

    url = webhook.url + "/mutate-kudo-dev-v1beta1-instance"
    with pytest.raises((TimeoutError, aiohttp.ClientError)):
        async with webhook.session.post(
            url, data=chunks(), timeout=aiohttp.ClientTimeout(total=0.05)
        ):
            pass
    assert (await webhook.ask(review(instance())))["allowed"] is True
    assert not [record for record in caplog.records if record.exc_info]


async def test_an_error_of_ours_is_a_denial_without_a_traceback(
    webhook: Webhook, versions: Replaced, caplog: pytest.LogCaptureFixture
) -> None:
    broken = first_operator()
    broken.versions[("ns", "first-1")] = "no version"  # type: ignore[assignment]
    versions.source = broken
    status = (await webhook.ask(review(instance())))["status"]
    assert (status["code"], status["reason"]) == (500, "InternalError")
    assert "Traceback" not in status["message"]
    assert any(record.exc_info for record in caplog.records)


async def test_a_denial_is_logged_without_parameter_values(
    webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    old, new = (
        instance({"PORT": "hidden-1"}),
        instance({"PORT": "hidden-2", "REPLICAS": "hidden-3"}),
    )
    await webhook.ask(review(new, old))
    lines = [record for record in caplog.records if record.getMessage() == "denied"]
    assert len(lines) == 1
    assert vars(lines[0])["reason"] == "ParameterImmutable"
    assert vars(lines[0])["fields"] == ["spec.parameters[PORT]", "spec.parameters[REPLICAS]"]
    logged = json.dumps([vars(record) for record in caplog.records], default=str)
    assert "hidden" not in logged
