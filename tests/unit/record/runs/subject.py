"""What runs leave: events, conditions, requests, and what the webhook answers to changes."""

from collections.abc import Iterator
from typing import Any

from kubectl_kudo.session.kinds import INSTANCES
from kubeio.errors import ApiError
from kubeio.types import JsonObject
from tests.support.apiserver.server import Request
from tests.unit.reconciler.scenes.scene import Scene, play
from tests.unit.record.placeholders import Placeholders
from tests.unit.record.runs import scenes

_PLACEHOLDERS = Placeholders()
_DIFFERS = {"resourceVersion", "timeoutSeconds"}
"""Parameters of requests that are drawn, or that count what went before."""
_CHANGES: dict[str, JsonObject] = {
    "an unknown parameter": {"parameters": {"ABSENT": "1"}},
    "an immutable parameter": {"parameters": {"SIZE": "l"}},
    "a plan that does not exist": {"planExecution": {"planName": "absent"}},
    "the plan cleanup": {"planExecution": {"planName": "cleanup"}},
    "a version that does not exist": {"operatorVersion": {"name": "absent"}},
    "a retry of a run that did not fail": {"planExecution": {"planName": "deploy", "retryOf": "x"}},
    "a limit of the history": {"historyLimit": -1},
}


def files() -> Iterator[tuple[str, str]]:
    yield "runs/events.txt", "\n".join(_run(name, act) for name, act in scenes.RUNS.items())
    yield "runs/requests.txt", _requests()
    yield "runs/denials.txt", _denials()


def _run(name: str, act: scenes.Act) -> str:
    lines = [f"run: {name}"]

    async def body(scene: Scene) -> None:
        await act(scene)
        lines.extend(_events(scene))
        lines.extend(_state(scene))

    play(body)
    return _PLACEHOLDERS.put_into("\n".join(lines) + "\n")


def _events(scene: Scene) -> Iterator[str]:
    events = scene.life.cluster.server.storage.table(("", "events")).objects.values()
    for one in events:
        about = f"{one['involvedObject']['kind']}/{one['involvedObject']['name']}"
        times = f" ({one['count']} times)" if one.get("count", 1) > 1 else ""
        yield f"  {one['type']} {one['reason']} {about}: {one['message']}{times}"


def _state(scene: Scene) -> Iterator[str]:
    stored = scene.life.observed.instance("i")
    if stored is None:
        yield "  the Instance is gone"
        return
    status = stored.get("status") or {}
    for condition in status.get("conditions") or ():
        words = (condition["type"], condition["status"], condition["reason"])
        yield f"  condition {' '.join(words)}: {condition.get('message', '')}".rstrip()
    for name, entry in (status.get("planStatus") or {}).items():
        if entry.get("uid"):
            yield from _entry(name, entry)


def _entry(name: str, entry: JsonObject) -> Iterator[str]:
    yield f"  plan {name} {entry['status']}: {entry.get('message', '')}".rstrip(": ")
    for phase in entry["phases"]:
        for step in phase["steps"]:
            message = f": {step['message']}" if step.get("message") else ""
            yield f"    {phase['name']}.{step['name']} {step['status']}{message}"


def _requests() -> str:
    """Return the requests of a deploy and of the deletion after it, in their order."""
    lines: list[str] = []

    async def body(scene: Scene) -> None:
        await scenes.deployed(scene)
        lines.extend(_sent("deploy of the first Instance, the reconciler just started", scene))
        await scene.install("j", of=scene.life.versions["v1"])
        await scene.life.user.create("k", {})
        await scene.until_idle("k")
        scene.network.seen.clear()
        await scene.life.user.create("l", {})
        await scene.until_idle("l")
        lines.extend(_sent("deploy of another Instance", scene))
        await scene.delete("l")
        lines.extend(_sent("deletion of that Instance", scene))

    play(body)
    return _PLACEHOLDERS.put_into("\n".join(lines) + "\n")


def _sent(title: str, scene: Scene) -> Iterator[str]:
    yield title
    for one in scene.network.seen:
        yield f"  {_told(one)}"
    scene.network.seen.clear()


def _told(request: Request) -> str:
    query = {name: value for name, value in request.query.items() if name not in _DIFFERS}
    asked = "&".join(f"{name}={value}" for name, value in sorted(query.items()))
    return f"{request.method} {request.path}{f'?{asked}' if asked else ''}"


def _denials() -> str:
    """Return what the API server answers to changes of an Instance that the webhook denies."""
    lines: list[str] = []

    async def body(scene: Scene) -> None:
        await scenes.deployed(scene)
        for name, spec in _CHANGES.items():
            lines.append(name)
            lines.extend(f"  {line}" for line in await _answer(scene, spec))

    play(body)
    return _PLACEHOLDERS.put_into("\n".join(lines) + "\n")


async def _answer(scene: Scene, spec: dict[str, Any]) -> list[str]:
    try:
        await scene.admin.merge_patch(INSTANCES, "i", {"spec": spec}, namespace="ns")
    except ApiError as error:
        return [f"{error.status} {error.reason}", *str(error).split("\n")]
    return ["accepted"]
