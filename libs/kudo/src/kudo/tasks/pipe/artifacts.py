"""Artifacts: the ConfigMap or Secret that is made from each file of a pipe pod, and their names.

An env file has one `KEY=VALUE` a line, as KUDO 0.19 reads them. Names are those of KUDO 0.19, too:
every part in lower case without anything but letters and digits. So different parts can give the
same name or none at all; the engine refuses such a plan. Templates find them by `.Pipes`.
"""

import base64
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubeio.names import MAX_SUBDOMAIN
from kudo.api import JsonObject
from kudo.api.problems import KudoError
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.kinds import is_pipe

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import OperatorVersion, Plan
    from kudo.api.task_kinds.kind import PipeFileFields, TaskFields


_KEY = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_MAX_LINE = 64 * 1024 - 1
_BOM = "\ufeff"


class EnvFileError(KudoError):
    """A line that cannot be read. The text names its number, never what stands in it."""


def parse_env_file(content: bytes) -> dict[str, str]:
    """Return the values by key; of a key that comes twice the last one counts.

    White space before a key is dropped, as are blank lines and those that begin with `#`. A value
    is everything after the first `=`, quotes and trailing spaces included.

    Args:
        content: UTF-8; a byte order mark and the CR of CRLF are dropped.

    Raises:
        EnvFileError: a line is too long, is no UTF-8, has no `=`, or no key that can be used.
    """
    values: dict[str, str] = {}
    for number, line in _lines(content):
        key, equals, value = line.partition("=")
        if not equals:
            raise EnvFileError(f"line {number} has no '='; write KEY=VALUE")
        if not _KEY.fullmatch(key) or key == "." or key.startswith(".."):
            raise EnvFileError(
                f"line {number} has no valid key before its '='; use letters, digits, '-', '_' "
                "and '.', and do not begin with a digit"
            )
        values[key] = value
    return values


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that says something."""
    for number, raw in enumerate(content.split(b"\n"), 1):
        if len(raw) > _MAX_LINE:
            raise EnvFileError(f"line {number} is longer than {_MAX_LINE} bytes")
        try:
            line = raw.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise EnvFileError(f"line {number} is not valid UTF-8") from error
        line = (line.removeprefix(_BOM) if number == 1 else line).lstrip()
        if line and not line.startswith("#"):
            yield number, line


MAX_FILE_BYTES = 1024 * 1024
"""As much as a ConfigMap or Secret can hold."""
MAX_TOTAL_BYTES = 16 * 1024 * 1024
"""All files of a task are in memory at the same time."""


def path_of(file: "PipeFileFields") -> str:
    """Return the path of the file in the pod."""
    return file.file or file.env_file or ""


def check_sizes(files: Sequence["PipeFileFields"], sizes: Sequence[int]) -> None:
    """Refuse files that are too large; `sizes` in bytes.

    Raises:
        FatalTaskError: reason PipeTaskError.
    """
    for file, size in zip(files, sizes, strict=True):
        if size > MAX_FILE_BYTES:
            raise FatalTaskError(
                "PipeTaskError",
                f"pipe file {path_of(file)} size {size} exceeds maximum file size of "
                f"{MAX_FILE_BYTES} bytes",
            )
    if sum(sizes) > MAX_TOTAL_BYTES:
        raise FatalTaskError(
            "PipeTaskError",
            f"the pipe files have {sum(sizes)} bytes in all, which exceeds the maximum of "
            f"{MAX_TOTAL_BYTES} bytes; use more than one task",
        )


def artifact(file: "PipeFileFields", content: bytes | Mapping[str, str], name: str) -> JsonObject:
    """Return the ConfigMap or Secret for a file.

    Args:
        file: What the task says of the file.
        content: What it holds; of an env file its values by key.
        name: Name of the object.
    """
    # As in KUDO 0.19, a file becomes one key, named after it, and an env file one key a value.
    fields: JsonObject
    if isinstance(content, bytes):
        key = posixpath.basename(posixpath.normpath(path_of(file)))
        data = {key: base64.b64encode(content).decode()}
        # `data` of a ConfigMap can hold no bytes that are not UTF-8.
        fields = {"data": data} if file.kind == "Secret" else {"binaryData": data}
    elif file.kind == "Secret":
        texts = content.items()
        fields = {"data": {k: base64.b64encode(text.encode()).decode() for k, text in texts}}
    else:
        fields = {"data": dict(content)}
    if file.kind == "Secret":
        fields = {"type": "Opaque", **fields}
    return {"apiVersion": "v1", "kind": file.kind, "metadata": {"name": name}, **fields}


def unreadable(file: "PipeFileFields", error: EnvFileError) -> FatalTaskError:
    """Return the error of an env file; reason PipeTaskError."""
    text = f"pipe env file {path_of(file)} cannot be read: {error}"
    return FatalTaskError("PipeTaskError", text)


_DROPPED = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True, slots=True)
class PipeNames:
    """The place of a Pipe task, which its objects are named after."""

    instance: str
    plan: str
    phase: str
    step: str
    task: str

    @property
    def pod(self) -> str:
        return self._name("pipepod")

    def artifact(self, key: str) -> str:
        return self._name(_part(key))

    def __str__(self) -> str:
        return f"{self.plan}.{self.phase}.{self.step}.{self.task}"

    def nameless(self) -> Iterator[str]:
        """Yield the parts of the place of which no name is left."""
        for what in ("instance", "plan", "phase", "step", "task"):
            if not _part(getattr(self, what)):
                yield f"{what} {getattr(self, what)!r}"

    def _name(self, last: str) -> str:
        parts = (self.instance, self.plan, self.phase, self.step, self.task)
        return ".".join([*map(_part, parts), last])


def _part(text: str) -> str:
    return _DROPPED.sub("", text.lower())


def uses(
    instance: str, name: str, plan: "Plan", tasks: Iterable["TaskFields"]
) -> Iterator[tuple[PipeNames, "TaskFields"]]:
    """Yield the Pipe tasks of a plan, once for each step that names them."""
    pipe_tasks: dict[str, TaskFields] = {}
    for task in tasks:
        pipe_tasks.setdefault(task.name, task)
    for phase in plan.phases or ():
        for step in phase.steps:
            for task_name in step.tasks:
                pipe_task = pipe_tasks.get(task_name)
                if pipe_task is not None and is_pipe(pipe_task):
                    place = PipeNames(instance, name, phase.name, step.name, task_name)
                    yield place, pipe_task


def pipes(instance: str, name: str, version: "OperatorVersion") -> dict[str, str]:
    """Return what `.Pipes` is in all templates of a plan: the artifact's name by key.

    Args:
        instance: Name of the Instance.
        name: Name of the plan; one that the version does not have gives nothing.
        version: What the plan and its tasks come from.

    Raises:
        FatalTaskError: a key comes twice, or a name cannot be used; reason InvalidPlan.
    """
    plan = version.plans.get(name)
    if plan is None:
        return {}
    pipe_uses = list(uses(instance, name, plan, version.spec.tasks or ()))
    artifacts: dict[str, str] = {}
    for names, task in pipe_uses:
        for file in task.spec.pipe or ():
            key = file.key or ""
            if key in artifacts:
                raise _invalid(f"duplicated pipe key {key}")
            artifacts[key] = names.artifact(key)
    for problem in naming_problems(pipe_uses):
        raise _invalid(problem)
    return artifacts


def naming_problems(pipe_uses: Iterable[tuple[PipeNames, "TaskFields"]]) -> Iterator[str]:
    """Yield why the objects of Pipe tasks cannot have the names that they would get."""
    taken: dict[tuple[str, str], str] = {}
    for names, task in pipe_uses:
        for part in names.nameless():
            yield f"pipe task {names}: {part} has no letter or digit for the names of its objects"
        for kind, name, what in _objects(names, task):
            yield from _name_problems(name, what)
            first = taken.setdefault((kind, name), what)
            if first != what:
                yield f"{first} and {what} would both be {kind} {name}; rename one of them"


def _objects(names: PipeNames, task: "TaskFields") -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and description of each object of a task."""
    yield "Pod", names.pod, f"pipe task {names}"
    for file in task.spec.pipe or ():
        what = f"pipe key {file.key} of {names}"
        yield file.kind or "", names.artifact(file.key or ""), what


def _name_problems(name: str, what: str) -> Iterator[str]:
    if name.endswith("."):
        yield f"{what} has no letter or digit for the name of its object"
    if len(name) > MAX_SUBDOMAIN:
        yield (
            f"{what} would be named {name[:40]}..., which has {len(name)} characters; "
            f"{MAX_SUBDOMAIN} are allowed"
        )


def _invalid(problem: str) -> FatalTaskError:
    return FatalTaskError("InvalidPlan", f"could not make task pipes: {problem}")
