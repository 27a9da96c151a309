"""Packages and an Instance in which every name and text that others choose is hostile."""

import json
from pathlib import Path
from typing import Any

from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]

CONTROLS = "\x1b]0;owned\x07\x1b[2J\x1b[5A\x9b31m\x7f\r\u202e\u2066\u200f\x85\u2028"
MARKUP = "ports[http][bold][/x]:smile:"
"""What libraries that draw take for styles, an error and a picture."""
FORGED = "FORGED"
"""How a line begins that a name has made."""
SECOND = "SECOND"
"""How the second line of a message or description begins."""


def name(text: str) -> str:
    return f"{text}{MARKUP}{CONTROLS}\n{FORGED} {text}"


GIVEN = f"given{CONTROLS}"
"""What is typed: who types a line end knows it."""


def sentence(text: str) -> str:
    return f"{text}{MARKUP}{CONTROLS}\n{SECOND} {text}"


PLAN, PHASE, STEP, TASK, PARAMETER = map(name, ("plan", "phase", "step", "task", "parameter"))
REQUIRED = name("required")
VERSION = "teapot-2.0.0-0.2.0"


def _plan(task: str) -> JsonObject:
    steps = [{"name": STEP, "tasks": [task]}, {"name": name("other"), "tasks": [task]}]
    return {"strategy": "serial", "phases": [{"name": PHASE, "strategy": "serial", "steps": steps}]}


def _operator(of: str) -> JsonObject:
    return {
        "name": of,
        "description": sentence("description"),
        "operatorVersion": "0.3.0",
        "appVersion": "2.1.0",
        "kubernetesVersion": "1.22.0",
        "url": sentence("https://host/"),
        "maintainers": [{"name": name("maintainer"), "email": name("email")}],
        "tasks": [{"name": TASK, "kind": "Apply", "spec": {"resources": ["pot.yaml"]}}],
        "plans": {"deploy": _plan(TASK), PLAN: _plan(TASK)},
    }


def _parameters() -> list[JsonObject]:
    about = {"displayName": name("display"), "description": sentence("about"), "hint": name("hint")}
    return [
        {"name": PARAMETER, "default": GIVEN, "trigger": PLAN, **about},
        {"name": "CUPS", "default": "2"},
        {"name": REQUIRED, "required": True, **about},
    ]


_TEMPLATE: JsonObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "pot"},
    "data": {"text": sentence("text")},
}


def _write(folder: Path, operator: JsonObject, parameters: list[JsonObject]) -> Path:
    (folder / "templates").mkdir(parents=True)
    # JSON is YAML, with escapes for every character.
    (folder / "operator.yaml").write_text(json.dumps(operator))
    (folder / "params.yaml").write_text(json.dumps({"parameters": parameters}))
    (folder / "templates" / "pot.yaml").write_text(json.dumps(_TEMPLATE))
    return folder


def packages(folder: Path) -> list[Path]:
    """Write packages: one that can be read, one full of mistakes, one with such a file."""
    right = _write(folder / "right", _operator("teapot"), _parameters())
    operator = _operator(name("operator"))
    wrong = [{"name": name("absent"), "kind": name("kind"), "spec": {"resources": [name("no")]}}]
    operator["plans"]["deploy"] = _plan(name("missing"))
    operator |= {"tasks": wrong, name("field"): 1, "operatorVersion": name("version")}
    defaults = [{"name": PARAMETER, "type": "integer", "default": GIVEN, "trigger": PLAN}]
    mistaken = _write(folder / "mistaken", operator, defaults * 2)
    file = _write(folder / GIVEN, _operator("teapot"), _parameters())
    (file / "templates" / name("file").replace("/", "")).write_text(json.dumps(_TEMPLATE))
    (file / "templates" / "bytes\udcff.yaml").write_text("a: [")
    return [right, mistaken, file]


def repository(home: Path) -> None:
    """Write an index whose texts are hostile, and a list of repositories with its folder."""
    entry = {
        "name": "teapot",
        "operatorVersion": "0.3.0",
        "appVersion": name("app"),
        "description": sentence("description"),
        "urls": ["teapot-0.3.0.tgz"],
    }
    entries = {"teapot": [entry], name("operator"): [{**entry, "name": name("operator")}]}
    (home / "index.yaml").write_text(json.dumps({"apiVersion": "v1", "entries": entries}))
    listed = [
        {"name": "own", "url": home.as_uri()},
        {"name": name("other"), "url": f"https://host/{CONTROLS}\n{FORGED}"},
    ]
    settings = {"context": "own", "repositories": listed}
    (home / "repository" / "repositories.yaml").write_text(json.dumps(settings))


def instance(api: FakeApi) -> None:
    """Store an Instance `tea`, its Operator, its version, a run that has failed, and an event."""
    about = {"annotations": {name("annotation"): name("value")}, "labels": {name("l"): name("v")}}
    operator = {"url": sentence("url"), "description": sentence("about"), "maintainers": [
        {"name": name("maintainer"), "email": name("email")}]}  # fmt: skip
    api.add("operators", {"metadata": {"name": "teapot", **about}, "spec": operator})
    version = {
        "operator": {"name": "teapot"},
        "version": "0.2.0",
        "appVersion": sentence("app"),
        "parameters": _parameters(),
        "plans": {"deploy": _plan(TASK), PLAN: _plan(TASK)},
        "tasks": [{"name": TASK, "kind": "Apply", "spec": {"resources": ["pot.yaml"]}}],
        "templates": {"pot.yaml": json.dumps(_TEMPLATE)},
    }
    api.add("operatorversions", {"metadata": {"name": VERSION, **about}, "spec": version})
    spec = {"operatorVersion": {"name": VERSION}, "parameters": {PARAMETER: sentence("value")}}
    metadata = {"name": "tea", "uid": "I", **about}
    api.add("instances", {"metadata": metadata, "spec": spec, "status": failed()})
    api.add("instances", {"metadata": {"name": name("other")}, "spec": spec})
    involved = {"kind": "Instance", "name": "tea", "namespace": "kitchen", "uid": "I"}
    event = {"involvedObject": involved, "type": "Warning", "reason": name("reason"),
             "message": sentence("event"), "lastTimestamp": "2026-01-01T00:00:00Z"}  # fmt: skip
    api.add("events", {"metadata": {"name": "tea.1.a"}, **event})
    owner = {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "tea", "uid": "I"}
    owned = {"name": "pot", "ownerReferences": [owner], "labels": {"kudo.dev/instance": "tea"}}
    api.add("configmaps", {"metadata": {**owned, **about}, "data": {name("key"): "a"}})


def ended(instance: JsonObject) -> JsonObject:
    """Let the run that is scheduled fail, as `FakeApi.script` does it."""
    execution = instance["spec"].get("planExecution") or {}
    plan, uid = execution.get("planName") or PLAN, execution.get("uid") or "1"
    instance["status"] = failed(plan, uid)
    return instance


def failed(plan: str = PLAN, uid: str = "1") -> JsonObject:
    """Return the status of an Instance whose plan has failed."""
    state = {"status": "FATAL_ERROR", "message": sentence("message")}
    step = {"name": STEP, **state}
    phase = {"name": PHASE, "status": "FATAL_ERROR", "steps": [step]}
    entry = {"name": plan, "uid": uid, **state, "phases": [phase],
             "lastUpdatedTimestamp": "2026-01-01T00:00:00Z"}  # fmt: skip
    conditions = [{"type": "Ready", "status": "False", "reason": name("reason"),
                   "message": sentence("condition")}]  # fmt: skip
    runs = [{"plan": plan, "uid": uid, "status": "FATAL_ERROR", "message": sentence("run"),
             "cause": {"requestedBy": name("somebody")}}]  # fmt: skip
    return {"planStatus": {plan: entry}, "conditions": conditions, "planRuns": runs}
