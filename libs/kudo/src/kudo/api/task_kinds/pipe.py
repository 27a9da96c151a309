"""The Pipe task: runs a pod and keeps files of it in ConfigMaps and Secrets."""

import re
from collections.abc import Iterator
from typing import Final

from kudo.api.task_kinds.fields import TaskFields
from kudo.api.task_kinds.kind import Action, Kind, Needing, Preview, Shown, TemplateUse

PIPE: Final = "Pipe"
_KEY: Final = re.compile(r"[a-zA-Z0-9_\-]+")
_ARTIFACTS: Final = ("ConfigMap", "Secret")


class Pipe(Kind):
    name = PIPE
    does = "runs a pod and keeps its files in ConfigMaps and Secrets"
    needed = ("pod", "pipe")
    recorded_first = True
    owns = True

    def problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.pipe:
            yield "pipe task has an empty pipe files list"
        for item in task.spec.pipe or ():
            fields = (item.file, item.env_file, item.kind, item.key)
            shown = "{" + " ".join(filter(None, fields)) + "}"
            if bool(item.file) == bool(item.env_file):
                text = "must have either 'file' or 'envFile' field set but not both"
                yield f"pipe file {shown} {text}"
            if item.kind not in _ARTIFACTS:
                yield f"invalid pipe kind (must be Secret or ConfigMap): {shown}"
            if not _KEY.fullmatch(item.key or ""):
                text = "invalid pipe key (only letters, numbers and _ and - are allowed)"
                yield f"{text}: {shown}"

    def installation_problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.pipe:
            yield f"task {task.name} does not have pipe files specified"

    def templates(self, task: TaskFields) -> Iterator[TemplateUse]:
        yield TemplateUse(task.spec.pod or "", ("pod",))

    def add_needs(self, task: TaskFields, needs: Needing) -> None:
        template = task.spec.pod or ""
        needs.need("v1", "Pod", Action.TOGGLE, template)
        needs.copy_files(template)
        for file in task.spec.pipe or ():
            artifact = "Secret" if file.kind == "Secret" else "ConfigMap"
            needs.need("v1", artifact, Action.APPLY, template)

    def shown(self, preview: Preview) -> Iterator[Shown]:
        template = preview.task.spec.pod or ""
        remark = "the pod of a Pipe task; its files become ConfigMaps and Secrets"
        yield Shown("apply", template, preview.pod(template), remark)

    def listed(self, task: TaskFields) -> str:
        return task.spec.pod or ""


def is_pipe(task: TaskFields) -> bool:
    """Return whether files of a pod of a task are found as `.Pipes`."""
    return task.kind == PIPE
