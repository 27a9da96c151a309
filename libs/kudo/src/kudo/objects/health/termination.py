"""The termination message of a container that failed, if the template of its pod has it shown.

What a container leaves when it ends may be as confidential as its log, and a status has more
readers. So only the author of a template can say that it is meant for them: by the annotation
`kudo.dev/show-termination-message: "true"` of the pods. Even then the end of a log is not shown,
which is what the policy FallbackToLogsOnError makes the message.
"""

from collections.abc import Iterator
from typing import Final

from kudo.api import JsonObject, names
from kudo.api.problems import shown
from kudo.objects.health.reading import items, mapping, metadata, number, spec, status, text

_FILE: Final = "File"
_LONGEST: Final = 400
"""Characters that are shown: an event has 1024 bytes, also for the object and the advice."""


def decides_on_message(pod: JsonObject) -> bool:
    """Return whether a pod has the annotation, whatever its value is."""
    annotations = mapping(metadata(pod).get("annotations"))
    return names.ANNOTATION_SHOW_TERMINATION_MESSAGE in annotations


def shows_message(pod: JsonObject) -> bool:
    """Return whether the template of a pod has its termination message shown."""
    annotations = mapping(metadata(pod).get("annotations"))
    return annotations.get(names.ANNOTATION_SHOW_TERMINATION_MESSAGE) == "true"


def may_be_log(container: JsonObject) -> bool:
    """Return whether the message of a container of a spec may be the end of its log."""
    return text(container.get("terminationMessagePolicy")) not in {"", _FILE}


def termination_message(pod: JsonObject) -> str:
    """Return what the first container that failed and left a message says; empty if none may.

    It names the container. It is one line without control characters, of bounded length.
    """
    if not shows_message(pod):
        return ""
    parts = _both(spec(pod), "initContainers", "containers")
    hidden = {text(container.get("name")) for container in parts if may_be_log(container)}
    for container in _both(status(pod), "initContainerStatuses", "containerStatuses"):
        name, said = text(container.get("name")), _said(container)
        if said and name not in hidden:
            return f"container {name} says: {said}"
    return ""


def _both(part: JsonObject, first: str, second: str) -> Iterator[JsonObject]:
    yield from items(part.get(first))
    yield from items(part.get(second))


def _said(container: JsonObject) -> str:
    """Return the message of a container that failed, or failed before it was started again."""
    for state in ("state", "lastState"):
        ended = mapping(mapping(container.get(state)).get("terminated"))
        if ended:
            return _one_line(text(ended.get("message"))) if number(ended.get("exitCode")) else ""
    return ""


def _one_line(said: str) -> str:
    # Besides control characters, those that reverse or hide text are not printable either.
    printable = "".join(each if each.isprintable() else " " for each in said)
    return shown(" ".join(printable.split()), _LONGEST)
