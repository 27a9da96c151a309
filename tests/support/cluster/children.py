"""What the tests of children write: operators that need others, and what they see of the tree."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until

FILE = "child.yaml"
"""The parameter file of the parent."""
CHILD = "i-child"
"""Name of the child of the Instance `i`, as the task has it by default."""
SETTINGS = build.template(build.config_map("{{ .Name }}", size="{{ .Params.SIZE }}"))


def have(package: str = "child", version: str = "0.1.0", **spec: Any) -> Json:
    """Return a task that has a child, in a version of its operator."""
    return build.task("have", "KudoOperator", package=package, operatorVersion=version, **spec)


def parent(
    *tasks: Json,
    file: str = "SIZE: '{{ .Params.SIZE }}'",
    name: str = "parent-0.1.0",
    plans: Mapping[str, Json] | None = None,
    **more: str,
) -> Json:
    """Return an operator whose plan `deploy` runs the tasks, each in a step of its own.

    Args:
        tasks: The tasks; one that has the child, with its parameter file, unless given.
        file: Text of the parameter file.
        name: Of the OperatorVersion.
        plans: Other plans.
        more: More templates, by name without `.yaml`.
    """
    steps = tasks or (have(parameterFile=FILE),)
    deploy = build.plan({one["name"]: [one["name"]] for one in steps})
    return build.operator_version(
        name,
        operator="parent",
        templates={FILE: file, **{f"{key}.yaml": text for key, text in more.items()}},
        tasks=steps,
        plans={"deploy": deploy, **(plans or {})},
        parameters=[build.parameter("SIZE", "1")],
    )


def child(
    version: str = "0.1.0",
    *,
    operator: str = "child",
    settings: str = SETTINGS,
    parameters: Sequence[Json] = (),
    tasks: Sequence[Json] = (),
    plans: Mapping[str, Json] | None = None,
    **more: str,
) -> Json:
    """Return an operator that writes its parameter SIZE into a ConfigMap of its own name."""
    return build.operator_version(
        f"{operator}-{version}",
        operator=operator,
        templates={
            "settings.yaml": settings,
            **{f"{key}.yaml": text for key, text in more.items()},
        },
        tasks=[build.task("settings", "Apply", "settings.yaml"), *tasks],
        plans={"deploy": build.plan({"settings": ["settings"]}), **(plans or {})},
        parameters=[build.parameter("SIZE", "0"), *parameters],
    )


async def bring(world: World, *objects: Json) -> None:
    """Create objects; it has to succeed."""
    done = await world.apply(*objects)
    assert done.code == 0, done.output


async def install(world: World, version: Json, *others: Json, **parameters: str) -> None:
    """Create the versions, then the Instance `i` of the first one."""
    await bring(
        world, version, *others, build.instance("i", version["metadata"]["name"], **parameters)
    )


async def run_again(world: World, name: str = "i", plan_name: str = "deploy") -> Json:
    """Trigger a plan by hand; return the Instance once that run has ended either way."""
    before = instances.entry(await world.instance(name), plan_name).get("uid")
    await world.patch(name, {"planExecution": {"planName": plan_name}})
    await world.until(
        name, lambda i: instances.entry(i, plan_name).get("uid") != before, "another run"
    )
    return await world.until_ended(name, plan_name)


async def upgrade(world: World, version: Json, **parameters: str) -> Json:
    """Create a version without other plans, upgrade `i` to it, and return it once that ended."""
    await bring(world, version)
    changes: Json = {"operatorVersion": {"name": version["metadata"]["name"]}}
    await world.patch("i", {**changes, **({"parameters": parameters} if parameters else {})})
    return await world.until_ended(
        "i", "upgrade" if "upgrade" in version["spec"]["plans"] else "deploy"
    )


async def runs_of(world: World, name: str) -> list[str]:
    """Return the plans that an Instance has begun, oldest first."""
    return [
        event["message"].split()[3]
        for event in await world.events("PlanStarted")
        if event["involvedObject"]["name"] == name
    ]


async def until_runs(world: World, name: str, plan_name: str = "deploy") -> Json:
    """Wait until an Instance is there and runs a plan."""
    await wait_until(lambda: _is_there(world, name), lambda: f"Instance {name}")
    return await world.until(
        name, lambda i: instances.status_of(i, plan_name) == "IN_PROGRESS", f"{plan_name} to run"
    )


async def _is_there(world: World, name: str) -> bool:
    return await world.find(INSTANCES, name) is not None
