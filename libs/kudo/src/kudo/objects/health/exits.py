"""How a container of a failed pod has ended: its exit code, and its termination message.

A Job task tells both, whatever annotation its pods have: its containers have the policy `File`, so
the message is what the program wrote for others, and never the end of its log. Should a pod have
another policy all the same, such as from a webhook, the message of that container is not shown.
"""

from dataclasses import dataclass, replace
from typing import Final

from kudo.api import JsonObject
from kudo.api.problems import shown
from kudo.objects.health.pods import both, may_be_log, restriction_advice
from kudo.objects.health.reading import (
    condition,
    explained,
    mapping,
    number,
    spec,
    status,
    text,
)

_LONGEST: Final = 4096
"""Characters of a message; the kubelet keeps as many bytes."""
_USUAL: Final = frozenset({"", "Error", "Completed"})
"""Reasons that say no more than the exit code does."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a container that failed.

    Attributes:
        container: Its name.
        code: Its exit code, which is not 0.
        reason: One CamelCase word of Kubernetes if it says more than the code, such as OOMKilled.
        message: What it wrote before, in one line; empty if it wrote nothing, or that is not shown.
        advice: What to do if the message follows from what is restricted by default.
    """

    container: str
    code: int
    reason: str = ""
    message: str = ""
    advice: str = ""

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        ended = f"container {self.container} ended with exit code {self.code}{reason}"
        said = f"{ended}: {self.message}" if self.message else ended
        return f"{said}; {self.advice}" if self.advice else said

    def without_outputs(self) -> "Exit":
        """Return the same without a message that looks like the outputs of a task."""
        is_object = self.message.startswith("{")
        return replace(self, message="", advice="") if is_object else self


def exit_of(pod: JsonObject) -> Exit | None:
    """Return how the first container of a pod that failed has ended; None if none has."""
    hidden = {
        text(container.get("name"))
        for container in both(spec(pod), "initContainers", "containers")
        if may_be_log(container)
    }
    for container in both(status(pod), "initContainerStatuses", "containerStatuses"):
        ended = mapping(mapping(container.get("state")).get("terminated"))
        code = number(ended.get("exitCode"))
        if not code:
            continue
        name, reason = text(container.get("name")), text(ended.get("reason"))
        message = "" if name in hidden else _one_line(ended.get("message"))
        return Exit(
            name,
            code,
            "" if reason in _USUAL else reason,
            message,
            restriction_advice(pod, message),
        )
    return None


def job_failure(job: JsonObject) -> str:
    """Return why a Job has failed, as its condition says: `reason: message`."""
    return explained(condition(job, "Failed")) or "no reason is given"


def _one_line(message: object) -> str:
    """Return a message without line breaks and control characters, of bounded length."""
    if not isinstance(message, str):
        return ""
    kept = message[: 2 * _LONGEST]
    # Besides control characters, those that reverse or hide text are not printable either.
    printable = "".join(each if each.isprintable() else " " for each in kept)
    return shown(" ".join(printable.split()), _LONGEST)
