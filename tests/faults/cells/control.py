"""The life of runs under control: one is suspended, one runs into its time limit and is retried.

Its plans delete a ConfigMap that a finalizer holds. So a run is in its midst for as long as a stage
wants it to be, whatever strikes: nothing goes on before the finalizer is removed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from kubeio.errors import NotFound
from tests.faults.cells.story import Place, Stage, Story, in_namespace
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, VERSIONS

_TRIAL, _HELD = "trial", "held"
_FINALIZER = "faults.kudo.dev/held"
_TIMEOUT = "15s"
_WAIT_SECONDS: Final = 150.0
_POLL = 0.2


def _version() -> Json:
    """Return an OperatorVersion whose plans wait in their second step."""
    of_instance = "{{ .Name }}-"
    templates = {
        "note.yaml": build.template(build.config_map(f"{of_instance}note", plan="{{ .PlanName }}")),
        "held.yaml": build.template(build.config_map(_HELD)),
        "first.yaml": build.template(build.job(f"{of_instance}first")),
        "second.yaml": build.template(build.job(f"{of_instance}second")),
    }
    tasks = [build.task(name, "Apply", f"{name}.yaml") for name in ("note", "first", "second")]
    deploy, mend = (build.serial(["note"], ["held"], [job]) for job in ("first", "second"))
    mend["phases"][0]["steps"][1]["timeout"] = _TIMEOUT
    return build.operator_version(
        f"{_TRIAL}-0.1.0",
        operator=_TRIAL,
        templates=templates,
        tasks=[*tasks, build.task("held", "Delete", "held.yaml")],
        plans={"deploy": deploy, "mend": mend},
    )


async def _hold(place: Place) -> None:
    """Create the ConfigMap that is not gone before it is let go."""
    held = in_namespace(build.config_map(_HELD), place.namespace)
    metadata = {**held["metadata"], "finalizers": [_FINALIZER]}
    await place.admin.create(CONFIG_MAPS, {**held, "metadata": metadata})


async def _let_go(place: Place) -> None:
    with suppress(NotFound):
        await place.admin.merge_patch(
            CONFIG_MAPS, _HELD, {"metadata": {"finalizers": None}}, namespace=place.namespace
        )


async def _until(place: Place, condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds, or the Instance is gone, or for a while."""
    deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
    with suppress(NotFound):
        while not await condition() and asyncio.get_running_loop().time() < deadline:
            await place.client.get(INSTANCES, _TRIAL, namespace=place.namespace)
            await asyncio.sleep(_POLL)


async def _set(place: Place, spec: Json) -> None:
    with suppress(NotFound):
        await place.patch(_TRIAL, spec)


async def _deploy_with_a_pause(place: Place) -> None:
    """Install, and suspend while the second step waits."""

    async def step() -> Json:
        found = await place.client.get(INSTANCES, _TRIAL, namespace=place.namespace)
        phases = instances.entry(found, "deploy").get("phases")
        return dict(phases[0]["steps"][1]) if phases else {}

    async def waits() -> bool:
        # A pause looks only at tasks that are on record as begun.
        return _HELD in (await step()).get("message", "")

    async def paused() -> bool:
        found = await place.client.get(INSTANCES, _TRIAL, namespace=place.namespace)
        return "suspendedAt" in (found.get("status") or {})

    async def gone_is_recorded() -> bool:
        return bool((await step())["status"] == "COMPLETE")

    await _hold(place)
    await place.client.create(VERSIONS, in_namespace(_version(), place.namespace))
    instance = build.instance(_TRIAL, f"{_TRIAL}-0.1.0")
    await place.client.create(INSTANCES, in_namespace(instance, place.namespace))
    await _until(place, waits)
    await _set(place, {"suspend": True})
    await _until(place, paused)
    await _let_go(place)
    # What has become of what was sent is recorded during the pause: the next writes are the same in
    # each life.
    await _until(place, gone_is_recorded)
    await _set(place, {"suspend": None})


async def _mend(place: Place) -> None:
    await _hold(place)
    await _set(place, {"planExecution": {"planName": "mend"}})


async def _retry(place: Place) -> None:
    await _let_go(place)
    found = await place.client.get(INSTANCES, _TRIAL, namespace=place.namespace)
    failed = instances.entry(found, "mend")["uid"]
    await _set(place, {"planExecution": {"planName": "mend", "retryOf": failed}})


CONTROLLED: Final = Story(
    _TRIAL,
    (
        Stage("suspended", "deploy", _deploy_with_a_pause),
        Stage("timed out", "mend", _mend, ends="FATAL_ERROR"),
        Stage("retried", "mend", _retry),
    ),
)
