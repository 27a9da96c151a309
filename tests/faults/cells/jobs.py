"""The life of Job tasks: Jobs that end well and badly, and runs that end while one is active.

What a Job hands on is in the status, and in an object of a later step.

The pods of simulated nodes run for as long as an annotation of their template says.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from kubeio.errors import ApiError, NotFound
from tests.faults.cells.story import Place, Stage, Story, in_namespace
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, VERSIONS

_WORKS: Final = "works"
_WAIT_SECONDS: Final = 150.0
_POLL: Final = 0.2
_SECONDS: Final = '{{ if eq .Params.SLOW "true" }}10m{{ else }}100ms{{ end }}'


_MESSAGE: Final = '{"size": "3"}'
"""The outputs of the task."""


def _pod(**annotations: str) -> str:
    """Return a pod template with annotations for the node."""
    pod = {
        "metadata": {"annotations": {f"kwok.kudo.dev/{k}": v for k, v in annotations.items()}},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }
    text = build.template(pod).replace('\\"', '"').replace(f'"{_SECONDS}"', f"'{_SECONDS}'")
    return text.replace(f'"{_MESSAGE}"', f"'{_MESSAGE}'")


def _version() -> Json:
    jobs = {
        name: build.task(name, "Job", job={"podTemplate": f"{name}.yaml", "command": ["run"]})
        for name in ("backup", "broken")
    }
    jobs["backup"]["spec"]["job"]["outputs"] = ["size"]
    note = build.config_map("{{ .Name }}-note", size="{{ .Outputs.backup.size }}")
    return build.operator_version(
        f"{_WORKS}-0.1.0",
        operator=_WORKS,
        templates={
            "base.yaml": build.template(build.config_map("{{ .Name }}-base", p="{{ .PlanName }}")),
            "note.yaml": build.template(note),
            "backup.yaml": _pod(**{"run-for": _SECONDS, "termination-message": _MESSAGE}),
            "broken.yaml": _pod(**{"exit-code": "3", "run-for": "100ms"}),
        },
        tasks=[
            build.task("base", "Apply", "base.yaml"),
            build.task("note", "Apply", "note.yaml"),
            *jobs.values(),
        ],
        parameters=[build.parameter("SLOW", "false", trigger="work")],
        plans={
            "deploy": build.serial(["base"], ["backup"], ["note"]),
            "again": build.serial(["backup", "base"]),
            "fail": build.serial(["broken"]),
            "work": build.serial(["backup"]),
            "cleanup": build.serial(["backup"]),
        },
    )


async def _set(place: Place, spec: Json) -> None:
    # Once it is being deleted, no change of it is admitted.
    with suppress(ApiError):
        await place.patch(_WORKS, spec)


async def _until(place: Place, holds: Callable[[Json], bool]) -> None:
    """Wait until something holds of the Instance, or it is gone, or for a while."""
    deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
    with suppress(NotFound):
        while asyncio.get_running_loop().time() < deadline:
            found = await place.client.get(INSTANCES, _WORKS, namespace=place.namespace)
            if holds(found):
                return
            await asyncio.sleep(_POLL)


def _is_active(instance: Json) -> bool:
    """Return whether the Job of the plan `work` is on record, and nothing else is told of it."""
    run = instances.entry(instance, "work")
    if run.get("uid") != instances.scheduled(instance).get("uid"):
        return False
    tasks = run["phases"][0]["steps"][0].get("tasks") or [{}]
    # A watch that is interrupted is told as well, and then the message is another one.
    return "jobUid" in tasks[0] and tasks[0]["message"].endswith("still running")


async def _install(place: Place) -> None:
    await place.client.create(VERSIONS, in_namespace(_version(), place.namespace))
    instance = build.instance(_WORKS, f"{_WORKS}-0.1.0")
    await place.client.create(INSTANCES, in_namespace(instance, place.namespace))


async def _again(place: Place) -> None:
    await _set(place, {"planExecution": {"planName": "again"}})


async def _fail(place: Place) -> None:
    await _set(place, {"planExecution": {"planName": "fail"}})


async def _cancel(place: Place) -> None:
    await _set(place, {"parameters": {"SLOW": "true"}})
    await _until(place, _is_active)
    await _set(place, {"planExecution": {"status": "FATAL_ERROR"}})


async def _replace(place: Place) -> None:
    """Run the plan, and again with another value, which takes the place of the first run."""
    await _set(place, {"planExecution": {"planName": "work"}})
    await _until(place, _is_active)
    await _set(place, {"parameters": {"SLOW": "false"}})


async def _delete(place: Place) -> None:
    await place.delete(_WORKS)


JOBS: Final = Story(
    _WORKS,
    (
        Stage("job", "deploy", _install),
        Stage("job again", "again", _again),
        Stage("job failed", "fail", _fail, ends="FATAL_ERROR"),
        Stage("job cancelled", "work", _cancel, ends="FATAL_ERROR"),
        Stage("job replaced", "work", _replace),
        Stage("job cleanup", "cleanup", _delete),
    ),
)
