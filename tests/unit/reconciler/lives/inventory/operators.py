"""Random OperatorVersions that add, drop, rename, share and retain objects; no tests of its own.

Tasks have the same names in all versions, and objects come from a few names: so one version drops
what another one applied, and tasks take over objects of others. Delete and Toggle tasks have names
of their own, so that any other deletion has to be justified by the rules of pruning.
"""

import json
from random import Random
from typing import Final

from kubeio.types import JsonObject
from kudo.api import names

PLANS: Final = ("deploy", "update", "upgrade", "custom", "cleanup")
_APPLIES: Final = ("one", "two", "three")
"""Tasks that apply what a version draws for them."""
_OF_INSTANCE: Final = "{{ .Name }}-"
_IF_ON: Final = '{{ if eq .Params.ON "true" }}%s{{ end }}'
_KINDS: Final = {
    "ConfigMap": "v1",
    "Secret": "v1",
    "PersistentVolumeClaim": "v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
}
PLACES: Final = (
    ("ConfigMap", "a0"),
    ("ConfigMap", "a1"),
    ("ConfigMap", "a2"),
    ("ConfigMap", "{{ .PlanName }}"),
    ("ConfigMap", "size{{ .Params.SIZE }}"),
    ("ConfigMap", "k0"),
    ("Secret", "s0"),
    ("PersistentVolumeClaim", "v0"),
    ("ClusterRole", "c0"),
)
"""Kinds and names of the objects of an Instance; its own name stands before them."""
SHARED: Final = (("ClusterRole", "shared0"), ("ClusterRole", "shared1"))
"""Those that all Instances apply."""


def _object(rng: Random, kind: str, name: str) -> str:
    """Draw the text of a template with an object."""
    metadata: JsonObject = {"name": name}
    annotations = _annotations(rng, kind)
    if annotations:
        metadata["annotations"] = annotations
    content: JsonObject = {}
    if kind in ("ConfigMap", "Secret"):
        content["data"] = {"size": "{{ .Params.SIZE }}"} if rng.random() < 0.5 else {}
    elif kind == "ClusterRole":
        verbs = ["get", "list"] if rng.random() < 0.2 else ["get"]
        content["rules"] = [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]
    else:
        content["spec"] = {"accessModes": ["ReadWriteOnce"]}
    body = {"apiVersion": _KINDS[kind], "kind": kind, "metadata": metadata, **content}
    return json.dumps(body)


def _annotations(rng: Random, kind: str) -> JsonObject:
    drawn: JsonObject = {}
    if rng.random() < 0.15:
        drawn[names.ANNOTATION_DELETION_POLICY] = names.RETAIN
    if kind == "PersistentVolumeClaim" and rng.random() < 0.4:
        drawn[names.ANNOTATION_PRUNE] = "true"
    if kind == "ClusterRole" and rng.random() < 0.5:
        drawn[names.ANNOTATION_DELETE_WITH_INSTANCE] = "true"
    return drawn


def _templates(rng: Random) -> dict[str, dict[str, str]]:
    """Draw what each task applies, at least one template; some only while a parameter says so."""
    found: dict[str, dict[str, str]] = {task: {} for task in _APPLIES}
    places = [(kind, _OF_INSTANCE + name) for kind, name in PLACES] + list(SHARED)
    # No two tasks of a version have the same object: each would put it on record for itself.
    for number, (kind, name) in enumerate(rng.sample(places, rng.randint(4, len(places)))):
        text = _object(rng, kind, name)
        # An Apply task without templates is invalid, and its run is refused.
        task = _APPLIES[number] if number < len(_APPLIES) else rng.choice(_APPLIES)
        found[task][f"{number}.yaml"] = _IF_ON % text if rng.random() < 0.25 else text
    return found


def operator_version(rng: Random, name: str) -> JsonObject:
    """Draw an OperatorVersion."""
    templates = _templates(rng)
    switched = {f"g{n}.yaml": _object(rng, "ConfigMap", f"{_OF_INSTANCE}g{n}") for n in range(2)}
    removed = {"x.yaml": _object(rng, "ConfigMap", f"{_OF_INSTANCE}x0")}
    tasks: list[JsonObject] = [_task(task, "Apply", found) for task, found in templates.items()]
    tasks += [
        _task("switch", "Toggle", switched, parameter="ON"),
        _task("make", "Apply", removed),
        _task("remove", "Delete", removed),
        {"name": "fails", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}},
        {"name": "done", "kind": "Dummy", "spec": {"done": True}},
    ]
    others = rng.sample(PLANS[1:], rng.randint(1, 3))
    every = {file: text for found in templates.values() for file, text in found.items()}
    prune = rng.choice((True, True, False, None))
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "operator": {"name": "op"},
            "version": "1",
            "plans": {plan: _plan(rng) for plan in ("deploy", *sorted(others))},
            "tasks": tasks,
            "templates": {**every, **switched, **removed},
            "parameters": [
                {"name": "SIZE", "default": "1"},
                {"name": "ON", "value-type": "boolean", "default": "true"},
            ],
            **({} if prune is None else {"prune": prune}),
        },
    }


def _task(name: str, kind: str, files: dict[str, str], **more: str) -> JsonObject:
    return {"name": name, "kind": kind, "spec": {"resources": [*files], **more}}


def _plan(rng: Random) -> JsonObject:
    drawn = rng.sample([*_APPLIES, "switch", "done"], rng.randint(1, 4))
    steps = [[task] for task in drawn]
    if rng.random() < 0.3:
        steps += [["make"], ["remove"]]
    if rng.random() < 0.1:
        steps.insert(rng.randrange(len(steps) + 1), ["fails"])
    strategy = rng.choice(("serial", "parallel")) if len(steps) == len(drawn) else "serial"
    named = [{"name": f"s{at}", "tasks": some} for at, some in enumerate(steps)]
    return {"strategy": "serial", "phases": [{"name": "p", "strategy": strategy, "steps": named}]}


def values(rng: Random) -> dict[str, str | None]:
    """Draw what a user sets at once."""
    drawn = {"SIZE": rng.choice(("1", "2", "3")), "ON": rng.choice(("true", "false"))}
    return {name: drawn[name] for name in rng.sample(sorted(drawn), rng.randint(1, 2))}
