"""What becomes of runs while commands wait for them, told in states as the reconciler writes them.

The reconciler itself would take a time that differs from run to run, and so would what is shown.
"""

import copy
from collections.abc import Callable
from typing import Any

from kubeio.types import JsonObject
from tests.unit.cli.fake_api import Edit
from tests.unit.record.commands.site import Site

_TIMES = {"startedAt": "2030-01-01T00:00:00Z", "lastUpdatedTimestamp": "2030-01-01T00:00:00Z"}
_MESSAGE = {
    "FATAL_ERROR": "Error during execution: fatal error: it broke",
    "ERROR": "A transient error when executing task. Will retry. not yet",
}


def let_run(name: str, plan: str, *states: str) -> Callable[[Site], None]:
    """Return what lets the run of an Instance go through states, and close it after the last."""

    def prepare(site: Site) -> None:
        version = site.api.objects["instances", name]["spec"]["operatorVersion"]["name"]
        plans = site.api.objects["operatorversions", version]["spec"]["plans"]
        edits = [_state(plan, plans[plan], state) for state in states]
        site.api.script = [*edits, _closed(plan, states[-1])]

    return prepare


def let_installed_run(*states: str) -> Callable[[Site], None]:
    """Return what does the same with plan `deploy` of the package `teapot`."""
    steps = {"phases": [{"name": "main", "steps": [{"name": "app"}]}]}

    def prepare(site: Site) -> None:
        edits = [_state("deploy", steps, state) for state in states]
        site.api.script = [*edits, _closed("deploy", states[-1])]

    return prepare


def let_go(site: Site) -> None:
    """Let an Instance that is being deleted be gone."""
    site.api.script = [lambda _: None]


def let_pause(site: Site) -> None:
    """Let the reconciler have seen that an Instance is suspended."""

    def paused(instance: JsonObject) -> JsonObject:
        instance.setdefault("status", {})["suspendedAt"] = "2030-01-01T00:00:00Z"
        return instance

    site.api.script = [paused]


def _state(plan: str, declared: JsonObject, state: str) -> Edit:
    def change(instance: JsonObject) -> JsonObject:
        execution = instance["spec"].get("planExecution") or {}
        entries = instance.setdefault("status", {}).setdefault("planStatus", {})
        uid = execution.get("uid") or (entries.get(plan) or {}).get("uid")
        entry = _entry(plan, declared, state)
        entries[plan] = {**entry, "uid": uid, **_TIMES}
        return instance

    return change


def _entry(plan: str, declared: JsonObject, state: str) -> JsonObject:
    message: dict[str, Any] = {"message": _MESSAGE[state]} if state in _MESSAGE else {}
    phases = []
    for phase in declared["phases"]:
        steps = [{"name": step["name"], "status": state, **message} for step in phase["steps"]]
        phases.append({"name": phase["name"], "status": state, "steps": steps})
    whole = "IN_PROGRESS" if state == "ERROR" else state
    return {"name": plan, "status": whole, **message, "phases": phases}


def _closed(plan: str, state: str) -> Edit:
    def change(instance: JsonObject) -> JsonObject:
        closed = copy.deepcopy(instance)
        uid = (closed["spec"].pop("planExecution", None) or {}).get("uid")
        closed["spec"]["planExecution"] = {}
        run = {"plan": plan, "uid": uid, "status": state}
        closed["status"]["lastRun"] = {**(closed["status"].get("lastRun") or {}), **run}
        return closed

    return change
