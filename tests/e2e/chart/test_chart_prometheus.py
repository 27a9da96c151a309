"""Prometheus sees both services: every panel of the dashboard, and every alert, has its data."""

import asyncio
import json
import re
from collections.abc import Iterator

import pytest

from kubeio.errors import ApiError
from tests.e2e.chart.plans import WRITTEN, apply, gated, hold, written
from tests.e2e.chart.prometheus import Prometheus, prometheus
from tests.e2e.chart.release import COMPONENTS, Release
from tests.e2e.objects import job
from tests.support import build
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.site import Site
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.cluster.writers import writing
from tools.chart.helm import CHART

_METRIC = re.compile(r"\bkudo_[a-z_]+")
_WINDOW = "1m"


@pytest.fixture(scope="module")
def scraping(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus(site, folder) as found:
        yield found


def queries() -> list[str]:
    """Return what the panels of the dashboard ask."""
    dashboard = json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))
    targets = [target for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return [target["expr"].replace("$__rate_interval", _WINDOW) for target in targets]


async def until_all_scraped(scraping: Prometheus, release: Release) -> None:
    pods = [pod for component in COMPONENTS for pod in release.pods(component)]
    scraping.aim(pods)
    names = {pod["metadata"]["name"] for pod in pods}
    seen: dict[str, str] = {}

    async def scraped() -> bool:
        nonlocal seen
        seen = await asyncio.to_thread(scraping.up)
        return seen == dict.fromkeys(names, "up")

    await wait_until(scraped, lambda: f"{names} to be scraped; last seen: {seen}")


async def eventful(world: World, inside: Kubectl) -> None:
    """Have what panels and alerts speak of.

    A plan that fails, one that runs, a suspended Instance, and a refused change.
    """
    failing = build.operator_version(
        "failing",
        templates={"job.yaml": build.template(job("failing", ["sh", "-c", "exit 3"]))},
        plans={"deploy": build.plan({"j": ["job"]})},
    )
    await apply(world, failing, build.instance("failed", "failing"))
    await world.until_failed("failed")
    await world.patch("failed", {"suspend": True})
    await hold(world, inside, gated())
    with pytest.raises(ApiError):
        await world.patch("failed", {"parameters": {"UNKNOWN": "1"}})


async def test_every_query_of_the_dashboard_and_every_alert_has_its_data(
    scraping: Prometheus, world: World, inside: Kubectl, release: Release
) -> None:
    await until_all_scraped(scraping, release)
    await eventful(world, inside)
    await apply(world, written())
    asked = queries()
    names = {name for rule in scraping.rules().values() for name in _METRIC.findall(rule["query"])}
    assert len(asked) > 20
    assert len(names) > 5
    silent = [*asked, *sorted(names)]

    async def answered() -> bool:
        nonlocal silent
        # A quantile needs growth between two samples, so plans come to their end all the while.
        silent = [one for one in silent if not await asyncio.to_thread(scraping.values, one)]
        return not silent

    async with writing(world, WRITTEN, 1):
        await wait_until(answered, lambda: f"data for {silent}")


async def test_alerts_are_evaluated_and_one_fires_when_a_plan_has_failed(
    scraping: Prometheus, world: World, inside: Kubectl, release: Release
) -> None:
    await until_all_scraped(scraping, release)
    await eventful(world, inside)

    async def fires() -> bool:
        rules = await asyncio.to_thread(scraping.rules)
        return bool(rules["KudoPlanFailed"]["state"] == "firing")

    await wait_until(fires, lambda: "KudoPlanFailed to fire")
    rules = scraping.rules()
    assert {rule["health"] for rule in rules.values()} == {"ok"}
    quiet = {"KudoNoLeader", "KudoSeveralLeaders", "KudoWebhookWithoutCertificate"}
    assert {rules[name]["state"] for name in quiet} == {"inactive"}
