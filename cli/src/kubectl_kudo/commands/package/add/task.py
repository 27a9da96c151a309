"""`kubectl kudo package add task`: adds a task to a package."""

import posixpath
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from kubectl_kudo.commands.package.add.target import (
    COMMON,
    HELP,
    TEMPLATES,
    Target,
    is_asked,
    target_of,
    template_file,
)
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.asking import agree, ask, choose, needed
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kudo.api.task_kinds import DEFAULT_KIND, KINDS, any_kind, kinds_with
from kudo.api.task_kinds.job import SCRIPTS
from kudo.api.task_kinds.kind import TaskKind
from kudo.authoring.edit import Addition
from kudo.packages.files import OPERATOR_FILE

JsonObject = dict[str, Any]
_PIPE_FIELDS = ("file", "envFile", "kind", "key")
# A template of comments alone renders to no object, so it can be applied as it is.
_NO_OBJECTS = "# Kubernetes objects; a line of three hyphens separates one from the next.\n"
_SCRIPT = "set -eu\n"
_NO_PARAMETERS = "# Parameters of the child, one a line: NAME and value, separated by a colon.\n"


def run(args: Args) -> None:
    """Add a task of the command line, or of the answers.

    Raises:
        CliError: the task is not valid, or the package cannot be changed.
    """
    asked = is_asked(args, "task")
    target = target_of(args)
    if asked:
        task = _answered(args, target)
    else:
        kind = KINDS.get(args.kind)
        if kind is None:
            raise CliError(f'"{args.kind}" is not a kind of task; it can be {", ".join(KINDS)}')
        task = {"name": args.arguments[0], "kind": args.kind, "spec": dict(_given(kind, args))}
    text = target.with_additions(OPERATOR_FILE, Addition("tasks", task))
    created = dict(_new_templates(task["spec"], target))
    target.write({**created, OPERATOR_FILE: text}, f"task {task['name']}")


_FILE = "file=PATH or envFile=PATH, kind=Secret or ConfigMap, key=NAME"


def _flag(name: str, field: str, about: str, value: str, *, repeat: bool = False) -> Flag:
    """Return the flag of a field of the spec, which says what kinds have it."""
    more = "; may be repeated" if repeat and value in {about, "label=value"} else ""
    return Flag((name,), f"{about} ({kinds_with(field)}){more}", value, repeat=repeat)


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(("--kind",), f"{any_kind()} (default: {DEFAULT_KIND})", "kind", DEFAULT_KIND),
        _flag("--resource", "resources", "template", "template", repeat=True),
        _flag("--toggle", "parameter", "parameter that decides", "parameter"),
        _flag("--pod", "pod", "template of the pod", "template"),
        _flag("--pipe", "pipe", _FILE, "list", repeat=True),
        _flag("--package", "package", "path or name of the package", "package"),
        _flag("--parameter-file", "parameterFile", "template of its parameters", "template"),
        _flag("--instance-name", "instanceName", "name of its instance", "name"),
        _flag("--script", "job", "script that runs", "file"),
        _flag("--image", "job", "image that it runs in", "image"),
        _flag("--api-version", "check", "API version of the objects, v1 if absent", "version"),
        _flag("--object-kind", "check", "kind of the objects", "kind"),
        _flag("--object-name", "check", "name of the only object", "name"),
        _flag("--selector", "check", "label of the objects", "label=value", repeat=True),
        _flag("--until", "check", "when it is done, in CEL", "expression"),
        _flag("--failure", "check", "when it has failed, in CEL", "expression"),
        _flag("--message", "check", "what it waits for, in CEL", "expression"),
        *COMMON,
    ),
    more=f"{HELP}\n\nTemplates that do not exist are created; `.yaml` can be left out.",
    examples=(
        ("Apply templates/service.yaml", "package add task network --resource service"),
        (
            "Apply or delete it",
            "package add task extras --kind Toggle --toggle EXTRAS --resource x",
        ),
        (
            "Copy a file out of a pod",
            "package add task key --kind Pipe --pod key --pipe file=/out/k,kind=Secret,key=k",
        ),
        ("Run a script", "package add task backup --kind Job --script backup.sh --image busybox"),
        (
            "Wait for an object",
            "package add task db --kind Check --object-kind Pod --object-name db --until true",
        ),
    ),
)


def _given(kind: TaskKind, args: Args) -> Iterator[tuple[str, object]]:
    """Yield the fields of the spec that flags give.

    Raises:
        UsageError: one that the kind needs is missing.
    """
    given = {name: field.given(args) for name, field in _fields(kind)}
    flags = [FIELDS[name].flag for name in kind.needed if name in FIELDS]
    # Fields that have no flag are written into the file by hand.
    if not all(given[name] for name in kind.needed if name in FIELDS):
        raise UsageError(f"a task of kind {kind.name} needs {' and '.join(flags)}")
    yield from ((name, value) for name, value in given.items() if value)
    yield from kind.begins_with.items()


def _asked(kind: TaskKind, target: Target) -> Iterator[tuple[str, object]]:
    """Yield the fields of the spec that answers give."""
    for name, field in _fields(kind):
        value = field.asked(target)
        if value:
            yield name, value
    yield from kind.begins_with.items()


def _fields(kind: TaskKind) -> Iterator[tuple[str, "_Field"]]:
    return ((name, FIELDS[name]) for name in kind.fields if name in FIELDS)


def _resources(names: list[str]) -> list[str]:
    return [template_file(name) for name in names]


def _pipe(text: str) -> JsonObject:
    pairs = [part.partition("=") for part in text.split(",")]
    unknown = [key for key, _, _ in pairs if key not in _PIPE_FIELDS]
    if unknown:
        fields = ", ".join(_PIPE_FIELDS)
        raise UsageError(f'--pipe {text}: "{unknown[0]}" is not one of {fields}')
    return {key: value for key, _, value in pairs}


_CHECK: Final = "--object-kind, --until, and --object-name or --selector"


def _check(args: Args) -> JsonObject:
    pairs = [text.partition("=") for text in args.selector]
    for label, separator, _ in pairs:
        if not label or not separator:
            raise UsageError(f"--selector {label}: write a label and its value, as in app=db")
    fields = {
        "apiVersion": (args.api_version or "v1") if args.object_kind else "",
        "kind": args.object_kind,
        "name": args.object_name,
        "selector": {label: value for label, _, value in pairs},
        "until": args.until,
        "failure": args.failure,
        "message": args.message,
    }
    return {name: value for name, value in fields.items() if value}


def _asked_check(_: Target) -> JsonObject:
    return {
        "apiVersion": ask("API Version of the Object", "", needed),
        "kind": ask("Kind of the Object", "", needed),
        "name": ask("Name of the Object", "", needed),
        "until": ask("Done When (CEL)", "", needed),
    }


def _answered(args: Args, target: Target) -> JsonObject:
    tasks = {task.name for task in target.package.operator.tasks}

    def name_fault(name: str) -> str:
        return f'there is a task "{name}" already' if name in tasks else needed(name)

    name = ask("Task Name", args.arguments[0] if args.arguments else "", name_fault)
    kind = choose("Task Kind", [*KINDS], args.kind)
    return {"name": name, "kind": kind, "spec": dict(_asked(KINDS[kind], target))}


def _asked_resources(_: Target) -> list[str]:
    answer = ask("Templates, separated by commas", "", needed)
    return _resources([name.strip() for name in answer.split(",") if name.strip()])


def _asked_parameter(target: Target) -> str:
    names = [parameter.name for parameter in target.package.parameters]
    return choose("Parameter", names) if names else ask("Parameter", "", needed)


def _asked_pipes(_: Target) -> list[JsonObject]:
    pipes = [_asked_pipe()]
    while agree("Add another Pipe"):
        pipes.append(_asked_pipe())
    return pipes


def _asked_pipe() -> JsonObject:
    field = choose("Pipe File Type", ("file", "envFile"), "file")
    return {
        field: ask("Path in the Pod", "", needed),
        "kind": choose("Pipe Kind", ("Secret", "ConfigMap"), "ConfigMap"),
        "key": ask("Pipe Key", "", needed),
    }


def _job(args: Args) -> JsonObject:
    if not (args.script and args.image):
        return {}
    return {"script": _script_file(args.script), "image": args.image}


def _asked_job(_: Target) -> JsonObject:
    return {
        "script": _script_file(ask("Script", "", needed)),
        "image": ask("Image", "", needed),
    }


def _script_file(name: str) -> str:
    """Return the path of a script in a package."""
    return name if name.startswith(f"{SCRIPTS}/") else f"{SCRIPTS}/{name}"


def _new_templates(spec: JsonObject, target: Target) -> Iterator[tuple[str, str]]:
    """Yield paths and texts of templates that the task names and the package does not have."""
    texts = dict.fromkeys(spec.get("resources") or (), _NO_OBJECTS)
    if "pod" in spec:
        texts[spec["pod"]] = _pod(spec["pipe"])
    if "parameterFile" in spec:
        texts[spec["parameterFile"]] = _NO_PARAMETERS
    script = spec.get("job", {}).get("script")
    if script and not (target.folder / script).exists():
        yield script, _SCRIPT
    for name, text in texts.items():
        # A template of that name is the author's, and stays as it is.
        if not target.has_template(name):
            yield f"{TEMPLATES}/{name}", text


def _pod(pipes: list[JsonObject]) -> str:
    """Return a pod that creates the files empty; a pod of a Pipe task has one volume."""
    # With posixpath and not pathlib: these are paths in a pod, on whatever machine this runs.
    paths = [str(pipe.get("file") or pipe.get("envFile") or "") for pipe in pipes]
    folders = sorted({posixpath.dirname(path) for path in paths})
    make, touch = (shlex.join(words) for words in (["mkdir", "-p", *folders], ["touch", *paths]))
    above = posixpath.commonpath([posixpath.join("/", folder) for folder in folders] or ["/out"])
    init = {
        "name": "init",
        # Any image with a shell: the author names the program that makes the files.
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


@dataclass(frozen=True, slots=True)
class _Field:
    """How a field of a new task is given.

    Attributes:
        flag: The flag, for messages.
        given: Returns the value of the flag, as packages have it; empty if it is not given.
        asked: Asks for the value; empty if it is left out.
    """

    flag: str
    given: Callable[[Args], object]
    asked: Callable[[Target], object]


FIELDS: Final[Mapping[str, _Field]] = {
    "resources": _Field("--resource", lambda args: _resources(args.resource), _asked_resources),
    "parameter": _Field("--toggle", lambda args: args.toggle, _asked_parameter),
    "pod": _Field(
        "--pod",
        lambda args: _optional_file(args.pod),
        lambda _: template_file(ask("Pod Template", "", needed)),
    ),
    "pipe": _Field("--pipe", lambda args: [*map(_pipe, args.pipe)], _asked_pipes),
    "package": _Field("--package", lambda args: args.package, lambda _: ask("Package", "", needed)),
    "check": _Field(_CHECK, _check, _asked_check),
    "parameterFile": _Field(
        "--parameter-file",
        lambda args: _optional_file(args.parameter_file),
        lambda _: _optional_file(ask("Parameter File (optional)")),
    ),
    "job": _Field("--script and --image", _job, _asked_job),
    "instanceName": _Field(
        "--instance-name",
        lambda args: args.instance_name,
        lambda _: ask("Instance Name (optional)"),
    ),
}
"""By the name of the field; what is not here is written into the file by hand."""


def _optional_file(name: str) -> str:
    return template_file(name) if name else ""
