"""Reads the faults of a TestStep: what a step breaks, and when."""

from typing import Final

from kudo_harness.suite.documents import Document
from kudo_harness.suite.fields import Fields
from kudo_harness.suite.model import (
    DeletePods,
    Fault,
    FaultAction,
    FaultService,
    FaultTime,
    NodeNotReady,
    RefuseWrites,
    RestartService,
)

MOST_SECONDS: Final = 600
_ACTIONS: Final = ("deletePods", "restart", "nodeNotReady", "refuseWrites")
_REASON: Final = 200
"""Characters of a reason; it is a part of messages of the API server."""


def read_faults(step: Fields) -> tuple[Fault, ...]:
    """Return the faults of a step; what is wrong is noted."""
    faults = (_fault(step, n, item) for n, item in enumerate(step.items("faults")))
    return tuple(fault for fault in faults if fault is not None)


def _fault(step: Fields, n: int, item: object) -> Fault | None:
    fields = Fields.of(
        step.reading, (*step.path, "faults", n), item, (*_ACTIONS, "when"), strict=True
    )
    named = [name for name in _ACTIONS if fields.has(name)]
    if len(named) != 1:
        fields.error("InvalidField", f"a fault is one of {', '.join(_ACTIONS)}")
        return None
    action = _action(fields, named[0])
    time, when = _time(fields)
    return None if action is None else Fault(action, time, when, fields.place)


def _action(fault: Fields, name: str) -> FaultAction | None:
    if name == "restart":
        service = fault.choice("restart", FaultService)
        return None if service is None else RestartService(service)
    allowed = {
        "deletePods": ("labels", "namespace"),
        "nodeNotReady": ("name", "seconds"),
        "refuseWrites": ("apiVersion", "kind", "seconds", "reason"),
    }
    fields = Fields.of(
        fault.reading, (*fault.path, name), fault.values.get(name), allowed[name], strict=True
    )
    match name:
        case "deletePods":
            labels = fields.labels("labels")
            if not labels:
                fields.error("MissingField", "labels must be set: they say which pods are deleted")
            return DeletePods(labels, fields.text("namespace"))
        case "nodeNotReady":
            _require(fields, "name")
            return NodeNotReady(fields.text("name"), _seconds(fields))
    _require(fields, "apiVersion", "kind")
    reason = fields.text("reason")
    if len(reason) > _REASON or not reason.isprintable():
        message = f"reason is one line of at most {_REASON} characters"
        fields.error("InvalidField", message, "reason")
    return RefuseWrites(fields.text("apiVersion"), fields.text("kind"), _seconds(fields), reason)


def _seconds(fields: Fields) -> int:
    seconds = fields.integer("seconds")
    if not 1 <= seconds <= MOST_SECONDS:
        message = f"seconds must be set, from 1 to {MOST_SECONDS}"
        fields.error("InvalidField", message, "seconds")
    return seconds


def _time(fields: Fields) -> tuple[FaultTime, Document | None]:
    value = fields.values.get("when")
    if not isinstance(value, dict):
        return fields.choice("when", FaultTime) or FaultTime.AFTER, None
    when = fields.reading.document.part(*fields.path, "when")
    metadata = value.get("metadata")
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str)
    texts = isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)
    if not (named and texts):
        message = "when is before, after, or part of an object with apiVersion, kind and its name"
        fields.error("InvalidField", message, "when")
    return FaultTime.AFTER, when


def _require(fields: Fields, *names: str) -> None:
    for name in names:
        if not fields.text(name):
            fields.error("MissingField", f"{name} must be set")
