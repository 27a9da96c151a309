"""Operators whose runs can be held up, limited, failed and mended, and what tests do with them."""

from typing import Any

import pytest

from kubeio.client import Client
from kubeio.errors import ApiError
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS

IN_THE_WAY = "i-blocked"
"""A ConfigMap of somebody else with this name makes the step `phase1.blocked` fail for good."""


def config(name: str, **data: str) -> str:
    return build.template(build.config_map(f"{{{{ .Name }}}}-{name}", **data))


def operator(name: str = "control-1", **fields: Any) -> Json:
    """Return a version whose plan `guarded` applies three ConfigMaps, one after the other."""
    guarded = build.plan({"first": ["first"], "blocked": ["blocked"]}, {"last": ["last"]})
    version = build.operator_version(
        name,
        templates={
            "first.yaml": config("first", a="{{ .Params.A }}"),
            "blocked.yaml": config("blocked", by="kudo"),
            "last.yaml": config("last"),
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="3s")),
        },
        tasks=[
            *(build.task(task, "Apply", f"{task}.yaml") for task in ("first", "blocked", "last")),
            build.task("web", "Apply", "web.yaml"),
            build.dummy("wait"),
        ],
        plans={
            "deploy": build.plan({"first": ["first"]}),
            "guarded": guarded,
            "slow": build.plan({"web": ["web"]}, {"last": ["last"]}),
            "long": build.plan({"wait": ["wait"]}),
            "upgrade": guarded,
            "cleanup": build.plan({"last": ["last"]}),
        },
        parameters=[build.parameter("A", "1"), build.parameter("SLOW", "1", trigger="slow")],
    )
    version["spec"].update(fields)
    return version


async def installed(world: World) -> Json:
    """Create the Instance `i`, and return it when it is idle."""
    done = await world.apply(operator(), build.instance("i", "control-1"))
    assert done.code == 0, done.output
    return await world.until_complete("i")


async def trigger(world: World, plan: str, **more: str) -> str:
    """Ask for a run of a plan, and return its uid."""
    stored = await world.patch("i", {"planExecution": {"planName": plan, **more}})
    return str(instances.scheduled(stored)["uid"])


async def failed(world: World, admin: Client, plan: str = "guarded") -> str:
    """Run a plan that fails in its second step, and return the uid of the run."""
    await block(world, admin)
    uid = await trigger(world, plan)
    await world.until_failed("i", plan)
    return uid


async def block(world: World, admin: Client) -> None:
    theirs = build.config_map(IN_THE_WAY, by="somebody")
    await admin.create(CONFIG_MAPS, theirs, namespace=world.namespace, field_manager="somebody")


async def unblock(world: World, admin: Client) -> None:
    await admin.delete(CONFIG_MAPS, IN_THE_WAY, namespace=world.namespace)


async def until_step(world: World, step: str, status: str, plan: str) -> Json:
    return await world.until(
        "i", lambda i: instances.steps(i, plan).get(step) == status, f"{step} to be {status}"
    )


async def until_observed(world: World) -> Json:
    """Change a field that matters to no run, and wait until the reconciler has worked with it."""
    now = await world.instance("i")
    limit = 11 + now["spec"].get("historyLimit", 0) % 30
    changed = await world.patch("i", {"historyLimit": limit})
    generation = changed["metadata"]["generation"]
    return await world.until(
        "i",
        lambda i: (i.get("status") or {}).get("observedGeneration", 0) >= generation,
        "the reconciler to see a change",
    )


async def denied(world: World, spec: Json) -> ApiError:
    """Send a change that must be denied, and see that nothing was stored."""
    before = (await world.instance("i"))["spec"]
    with pytest.raises(ApiError) as caught:
        await world.patch("i", spec)
    assert (await world.instance("i"))["spec"] == before
    return caught.value
