"""SIGKILL between two tasks of one step: what is done and would do harm again is not repeated."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kudo_cluster.installation import Installation
from kudo_cluster.progress import silent
from tests.faults.cells.campaign import Campaign
from tests.faults.injection.faults import Fault, Rule
from tests.integration.ha.support import watching
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.resources import JOBS
from tests.support.cluster.world import World

APPLY, DELETE = "apply jobs.batch i-job", "delete jobs.batch i-job"
VERSION: Json = build.operator_version(
    "jobs-1",
    templates={"job.yaml": build.template(build.job("{{ .Name }}-job"))},
    tasks=[build.task("delete", "Delete", "job.yaml"), build.task("apply", "Apply", "job.yaml")],
    plans={"deploy": build.plan({"run": ["delete", "apply"]})},
)


@asynccontextmanager
async def struck(installation: Installation) -> AsyncIterator[tuple[World, Campaign]]:
    """Yield a namespace whose reconciler sees the API server through the proxy."""
    await asyncio.to_thread(installation.reconciler.stop)
    try:
        async with (
            client_of(installation.cluster.kubeconfig("user")) as client,
            Campaign.on(installation, silent) as campaign,
        ):
            namespace = await new_namespace(client)
            yield World(installation, client, namespace), campaign
    finally:
        await asyncio.to_thread(installation.reconciler.start)


async def test_a_delete_is_not_repeated_after_a_crash_at_the_next_task(
    running_installation: Installation,
) -> None:
    running_installation.webhook.start()
    async with struck(running_installation) as (world, campaign):
        async with watching(world, JOBS) as jobs:
            await world.apply(VERSION, build.instance("i", "jobs-1"))
            await world.until_complete("i")
            rule = Rule(world.namespace, APPLY, Fault.KILL_AFTER)
            campaign.lives.rules.arm(world.namespace, rule)
            again = await world.patch("i", {"planExecution": {"planName": "deploy"}})
            uid = instances.scheduled(again)["uid"]
            ended = await world.until_complete("i")
            sent = campaign.lives.rules.withdraw(world.namespace)

        assert rule.struck == sent[DELETE] == 1
        assert instances.entry(ended, "deploy")["uid"] == uid
        assert jobs.counts() == {"i-job": 2}
        assert instances.tasks_of(ended, "deploy")["run.delete"]["status"] == "COMPLETE"
