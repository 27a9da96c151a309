"""The names of what a Pipe task makes, and `.Pipes`, by which templates find them.

Names are those of KUDO 0.19: every part in lower case without anything but letters and digits. So
different parts can give the same name or none at all; the engine refuses such a plan.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubeio.names import MAX_SUBDOMAIN
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.kinds import is_pipe

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import OperatorVersion, Plan
    from kudo.api.task_kinds.kind import TaskFields

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
