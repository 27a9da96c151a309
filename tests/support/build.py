"""Objects to write: operators, Instances, and what templates hold."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]


def as_list(objects: Sequence[Json]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str, *, replicas: str | int = 1, ready_delay: str = "0s") -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {
                    "labels": {"app": name},
                    "annotations": {"kwok.kudo.dev/ready-delay": ready_delay},
                },
                "spec": {"containers": [{"name": "main", "image": "busybox"}]},
            },
        },
    }


def job(name: str, *, exit_code: int = 0, image: str = "busybox") -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": {"kwok.kudo.dev/exit-code": str(exit_code)}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": image}],
                },
            },
        },
    }


def template(*objects: Json | str) -> str:
    """Return a template; JSON is YAML, and expressions in it stay as they are."""
    texts = [text if isinstance(text, str) else json.dumps(text) for text in objects]
    return "\n---\n".join(texts).replace('"{{int ', "{{").replace(' int}}"', "}}")


def plan(*phases: Mapping[str, Sequence[str]], strategy: str = "serial") -> Json:
    """Return a plan of phases, each given as step -> tasks."""
    return {
        "strategy": strategy,
        "phases": [
            {
                "name": f"phase{number}",
                "strategy": "serial",
                "steps": [{"name": step, "tasks": list(tasks)} for step, tasks in phase.items()],
            }
            for number, phase in enumerate(phases, 1)
        ],
    }


def parameter(name: str, default: str | None = None, **fields: Any) -> Json:
    found: Json = {"name": name, "required": default is None, **fields}
    if default is not None:
        found["default"] = default
    return found


def operator_version(
    name: str,
    *,
    templates: Mapping[str, str],
    plans: Mapping[str, Json],
    parameters: Sequence[Json] = (),
    tasks: Sequence[Json] | None = None,
    operator: str = "op",
) -> Json:
    """Return an OperatorVersion; without tasks, there is an Apply task for each template."""
    applied = [
        {"name": file.removesuffix(".yaml"), "kind": "Apply", "spec": {"resources": [file]}}
        for file in templates
    ]
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": name},
        "spec": {
            "operator": {"kind": "Operator", "name": operator},
            "version": "0.1.0",
            "templates": dict(templates),
            "tasks": list(applied if tasks is None else tasks),
            "parameters": list(parameters),
            "plans": dict(plans),
        },
    }


def stored_version(**spec: Any) -> Json:
    """Return the OperatorVersion `v1` in namespace `ns` with this spec, as it is stored."""
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": "v1", "namespace": "ns"},
        "spec": {"operator": {"name": "op"}, "version": "1", **spec},
    }


def serial(*steps: Sequence[str]) -> Json:
    """Return a plan of one phase, with steps `s0`, `s1` and so on of these tasks."""
    named = [{"name": f"s{number}", "tasks": list(tasks)} for number, tasks in enumerate(steps)]
    return {"strategy": "serial", "phases": [{"name": "p", "strategy": "serial", "steps": named}]}


def instance(name: str, version: str, **parameters: str) -> Json:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": name, "labels": {"kudo.dev/operator": "op"}},
        "spec": {"operatorVersion": {"name": version}, "parameters": parameters},
    }


def task(name: str, kind: str, *resources: str, **spec: Any) -> Json:
    """Return a task; `resources` are names of templates."""
    named = {"resources": list(resources)} if resources else {}
    return {"name": name, "kind": kind, "spec": {**named, **spec}}


def dummy(name: str, **spec: bool) -> Json:
    return task(name, "Dummy", **spec)


def shaped(
    *phases: Mapping[str, Sequence[str]], plan: str = "serial", phase: str = "serial"
) -> Json:
    """Return a plan with the strategy of its phases and of the steps in them."""
    return {
        "strategy": plan,
        "phases": [
            {
                "name": f"phase{number}",
                "strategy": phase,
                "steps": [{"name": step, "tasks": list(tasks)} for step, tasks in steps.items()],
            }
            for number, steps in enumerate(phases, 1)
        ],
    }
