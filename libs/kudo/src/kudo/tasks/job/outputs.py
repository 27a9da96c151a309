"""The outputs of a Job task: the texts that its program writes as its termination message.

The message is one JSON object of texts. What is in it is never quoted in an error: people read
errors who may read no outputs, and a program may write what it was not meant to.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from kudo.api import JsonObject, bounds
from kudo.api.names import OUTPUT_NAME
from kudo.api.problems import kind_of_value, listed
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.job.pod import MAIN

_NAME: Final = re.compile(OUTPUT_NAME)
_PLACEHOLDER: Final = re.compile(r"<[^<>]+\.[A-Za-z0-9_.-]+>")
_KUBELET_BYTES: Final = 4096
"""Of a termination message; of a longer one, a kubelet keeps the end."""
_POD_BYTES: Final = 12 << 10
"""Of the messages of all containers of a pod, which each get the same share of it."""
_SHOWN: Final = 200


def placeholders(declared: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Return what stands for outputs where there is no run: `<task.name>`.

    Args:
        declared: The outputs by task.
    """
    return {task: {name: f"<{task}.{name}>" for name in names} for task, names in declared.items()}


def is_placeholder_in(text: str) -> bool:
    """Return whether a text may have a placeholder in it; no name of an object has these signs."""
    return bool(_PLACEHOLDER.search(text))


def termination_message(pod: JsonObject) -> str | None:
    """Return what the program in a pod of a Job has written; None if its end is not known.

    The program runs in the container `main`, or else in the first one.
    """
    containers = (pod.get("spec") or {}).get("containers") or ()
    names = [container.get("name") for container in containers]
    name = MAIN if MAIN in names else next(iter(names), None)
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (status.get("state") or {}).get("terminated")
        if status.get("name") == name and ended is not None:
            return str(ended.get("message") or "")
    return None


def kept_bytes(pod: JsonObject) -> int:
    """Return how many bytes of a termination message a kubelet keeps for this pod."""
    spec = pod.get("spec") or {}
    number = sum(len(spec.get(field) or ()) for field in ("containers", "initContainers"))
    return min(_KUBELET_BYTES, _POD_BYTES // max(1, number))


def outputs_of(message: str, declared: Sequence[str], kept: int, where: str) -> dict[str, str]:
    """Return the outputs in a termination message.

    Args:
        message: The message.
        declared: Names of the outputs that the task declares.
        kept: How many bytes of it a kubelet keeps.
        where: The Job, for messages.

    Raises:
        FatalTaskError: it is no JSON object of texts with these names, or too large; reason
            OutputsInvalid.
    """
    size = len(message.encode("utf-8", "replace"))
    if size > bounds.TASK_OUTPUTS:
        text = f"it has {size} bytes, more than {bounds.TASK_OUTPUTS}; write less"
        raise _invalid(where, text)
    try:
        # Its depth is bounded; a text with half a surrogate, which no status can hold, is an error.
        value = orjson.loads(message)
    except orjson.JSONDecodeError as error:
        raise _invalid(where, _no_json(message, size, kept)) from error
    fault = "; ".join(_faults(value, declared))
    if fault:
        raise _invalid(where, fault)
    return {name: value[name] for name in declared}


def _invalid(where: str, fault: str) -> FatalTaskError:
    return FatalTaskError("OutputsInvalid", f"{where}: its outputs cannot be used: {fault}")


def _no_json(message: str, size: int, kept: int) -> str:
    if not message.strip():
        return (
            "its program has written no termination message; it writes its outputs to "
            '/dev/termination-log, as a JSON object such as {"name": "text"}'
        )
    text = 'the termination message is not JSON; write one object such as {"name": "text"}'
    if size >= kept:
        text += f". It has {size} bytes, and the kubelet cuts it there: write less"
    return text


def _faults(value: Any, declared: Sequence[str]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"the termination message is {kind_of_value(value)} and not a JSON object"
        return
    undeclared = sorted(name for name in value if name not in declared)
    if undeclared:
        shown = [name for name in undeclared if _NAME.fullmatch(name)]
        which = listed(shown, most=_SHOWN) if len(shown) == len(undeclared) else "a name"
        yield f"it has {which}, which outputs of the task does not have"
    missing = [name for name in declared if name not in value]
    if missing:
        yield f"it lacks {listed(missing, most=_SHOWN)}"
    for name in declared:
        if name in value and not isinstance(value[name], str):
            is_boolean = isinstance(value[name], bool)
            kind = "true or false" if is_boolean else kind_of_value(value[name])
            yield f"{name} is {kind} and not text; put quotes around it"
