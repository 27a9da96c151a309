"""The path of KUDO 0.19: one mutating endpoint that judges and patches."""

from pathlib import Path

import pytest

from tests.unit.webhook.harness import MUTATE, Webhook, instance, patch_of, review, running

pytestmark = pytest.mark.asyncio(loop_scope="session")

ORIGINAL = "/admit-kudo-dev-v1beta1-instance"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_it_schedules_the_plan_of_a_change(webhook: Webhook, version: str) -> None:
    changed = review(instance({"REPLICAS": "2"}), instance(), version=version)
    response = await webhook.ask(changed, ORIGINAL)
    [scheduled] = [op["value"] for op in patch_of(response) if "planExecution" in op["path"]]
    assert (scheduled["planName"], scheduled["status"]) == ("update", "NEVER_RUN")


async def test_it_denies_with_the_reason_of_the_mutating_route(webhook: Webhook) -> None:
    changed = review(instance({"PORT": "81"}), instance({"PORT": "80"}))
    answers = [await webhook.ask(changed, path) for path in (ORIGINAL, MUTATE)]
    assert answers[0] == answers[1]
    assert answers[0]["status"]["reason"] == "ParameterImmutable"


async def test_its_requests_count_as_those_of_the_mutating_route(tmp_path: Path) -> None:
    async with running(tmp_path) as webhook:
        await webhook.ask(review(instance()), ORIGINAL)
        _, text = await webhook.probe("/metrics")
    assert 'kudo_admission_duration_seconds_count{route="mutate"} 1.0' in text


async def test_only_posts_are_served(webhook: Webhook) -> None:
    async with webhook.session.get(webhook.url + ORIGINAL) as answer:
        assert answer.status == 405
