"""Finds the objects that the message of a step names: what the step waits for, or failed on.

The messages are those of `kudo.objects.health`. A status has no other record of these objects.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
_KINDS = {
    "deployment": "Deployment",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
    "replicaset": "ReplicaSet",
    "job": "Job",
    "pod": "Pod",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "service": "Service",
    "instance": "Instance",
}
_QUOTED = rf'\b(?P<quoted>deployment|statefulset|daemonset|replicaset|job) "(?P<of>{_NAME})"'
_PLAIN = (
    r"\b(?P<plain>pod|persistentvolumeclaim|service|instance) "
    rf"(?P<within>{_NAME})/(?P<called>{_NAME})"
)
_OTHER = (
    rf"\b(?P<kind>[A-Z][A-Za-z0-9]*) (?P<in>{_NAME})/(?P<name>{_NAME})"
    r"(?= is not healthy| has failed terminally| is being deleted)"
)
_NAMED = re.compile(f"{_QUOTED}|{_PLAIN}|{_OTHER}")
_LONGEST = 4096
"""Characters of a message that are searched; the reconciler writes no longer ones."""


@dataclass(frozen=True, slots=True)
class WaitedObject:
    """Kind, namespace and name of an object; the namespace is empty for that of the Instance."""

    kind: str
    namespace: str
    name: str


def waited_objects(message: str) -> list[WaitedObject]:
    """Return the namespaced objects that a message names, pods first, each once."""
    found = dict.fromkeys(_named(message[:_LONGEST]))
    return sorted(found, key=lambda one: one.kind != "Pod")


def _named(message: str) -> Iterator[WaitedObject]:
    for match in _NAMED.finditer(message):
        if match["quoted"]:
            yield WaitedObject(_KINDS[match["quoted"]], "", match["of"])
        elif match["plain"]:
            yield WaitedObject(_KINDS[match["plain"]], match["within"], match["called"])
        else:
            yield WaitedObject(match["kind"], match["in"], match["name"])
