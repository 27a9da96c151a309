"""Adds a task to `operator.yaml`, and the templates that it needs."""

import posixpath
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

from kubectl_kudo.authoring.adding.target import TEMPLATES, Target, target_of, template_file
from kubectl_kudo.authoring.asking import agree, ask, choose, needed
from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError, UsageError
from kudo.authoring.edit import Addition
from kudo.packages.files import OPERATOR_FILE

JsonObject = dict[str, Any]
_KINDS = ("Apply", "Delete", "Toggle", "Pipe", "KudoOperator", "Dummy")
_PIPE_FIELDS = ("file", "envFile", "kind", "key")
_NO_OBJECTS = "# Kubernetes objects; a line of three hyphens separates one from the next.\n"
_NO_PARAMETERS = "# Parameters of the child, one a line: NAME and value, separated by a colon.\n"


def add_task(args: Args, *, asked: bool) -> None:
    """Add a task of the command line, or of the answers.

    Raises:
        CliError: the task is not valid, or the package cannot be changed.
    """
    target = target_of(args)
    if asked:
        task = _answered(args, target)
    else:
        if args.kind not in _KINDS:
            raise CliError(f'"{args.kind}" is not a kind of task; it can be {", ".join(_KINDS)}')
        task = {"name": args.arguments[0], "kind": args.kind, "spec": _given(args)}
    text = target.with_additions(OPERATOR_FILE, Addition("tasks", task))
    created = dict(_new_templates(task["spec"], target))
    target.write({**created, OPERATOR_FILE: text}, f"task {task['name']}")


def _given(args: Args) -> JsonObject:
    match args.kind:
        case "Apply" | "Delete":
            return {"resources": _resources(args.resource)}
        case "Toggle":
            return {"parameter": args.toggle, "resources": _resources(args.resource)}
        case "Pipe":
            if not args.pod:
                raise UsageError("a Pipe task needs --pod and --pipe")
            return {"pod": template_file(args.pod), "pipe": [*map(_pipe, args.pipe)]}
        case "KudoOperator":
            return _child(args.package, args.parameter_file, args.instance_name)
    return {"done": True}


def _resources(names: list[str]) -> list[str]:
    return [template_file(name) for name in names]


def _pipe(text: str) -> JsonObject:
    pairs = [part.partition("=") for part in text.split(",")]
    unknown = [key for key, _, _ in pairs if key not in _PIPE_FIELDS]
    if unknown:
        fields = ", ".join(_PIPE_FIELDS)
        raise UsageError(f'--pipe {text}: "{unknown[0]}" is not one of {fields}')
    return {key: value for key, _, value in pairs}


def _child(package: str, parameter_file: str, instance_name: str) -> JsonObject:
    file = template_file(parameter_file) if parameter_file else ""
    fields = {"package": package, "parameterFile": file, "instanceName": instance_name}
    return {key: value for key, value in fields.items() if value}


def _answered(args: Args, target: Target) -> JsonObject:
    known = {task.name for task in target.package.operator.tasks}

    def name_fault(name: str) -> str:
        return f'there is a task "{name}" already' if name in known else needed(name)

    name = ask("Task Name", args.arguments[0] if args.arguments else "", name_fault)
    kind = choose("Task Kind", _KINDS, args.kind)
    return {"name": name, "kind": kind, "spec": dict(_asked_spec(kind, target))}


def _asked_spec(kind: str, target: Target) -> Iterator[tuple[str, object]]:
    match kind:
        case "Toggle":
            names = [one.name for one in target.package.parameters]
            yield "parameter", choose("Parameter", names) if names else ask("Parameter", "", needed)
            yield "resources", _asked_resources()
        case "Apply" | "Delete":
            yield "resources", _asked_resources()
        case "Pipe":
            yield "pod", template_file(ask("Pod Template", "", needed))
            pipes = [_asked_pipe()]
            while agree("Add another Pipe"):
                pipes.append(_asked_pipe())
            yield "pipe", pipes
        case "KudoOperator":
            package, file = ask("Package", "", needed), ask("Parameter File (optional)")
            yield from _child(package, file, ask("Instance Name (optional)")).items()
        case _:
            yield "done", True


def _asked_resources() -> list[str]:
    answer = ask("Templates, separated by commas", "", needed)
    return _resources([name.strip() for name in answer.split(",") if name.strip()])


def _asked_pipe() -> JsonObject:
    field = choose("Pipe File Type", ("file", "envFile"), "file")
    return {
        field: ask("Path in the Pod", "", needed),
        "kind": choose("Pipe Kind", ("Secret", "ConfigMap"), "ConfigMap"),
        "key": ask("Pipe Key", "", needed),
    }


def _new_templates(spec: JsonObject, target: Target) -> Iterator[tuple[str, str]]:
    """Yield paths and texts of templates that the task names and the package does not have."""
    texts = dict.fromkeys(spec.get("resources") or (), _NO_OBJECTS)
    if "pod" in spec:
        texts[spec["pod"]] = _pod(spec["pipe"])
    if "parameterFile" in spec:
        texts[spec["parameterFile"]] = _NO_PARAMETERS
    for name, text in texts.items():
        if not target.has_template(name):
            yield f"{TEMPLATES}/{name}", text


def _pod(pipes: list[JsonObject]) -> str:
    """Return a pod that creates the files empty; a pod of a Pipe task has one volume."""
    paths = [str(pipe.get("file") or pipe.get("envFile") or "") for pipe in pipes]
    folders = sorted({posixpath.dirname(path) for path in paths})
    make, touch = (shlex.join(words) for words in (["mkdir", "-p", *folders], ["touch", *paths]))
    above = posixpath.commonpath([posixpath.join("/", folder) for folder in folders] or ["/out"])
    init = {
        "name": "init",
        "image": "busybox",
        "command": ["sh", "-c", f"{make} && {touch}"],
        "volumeMounts": [{"name": "out", "mountPath": above}],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"initContainers": [init], "volumes": [{"name": "out", "emptyDir": {}}]},
    }
    text: str = yaml.safe_dump(pod, sort_keys=False)
    return text
