"""What must be true after a plan, fault or not.

The state of a namespace is compared without what differs between two runs of the same: names of
namespaces, uids, versions, times, addresses. Pods and ReplicaSets, whose names are random, are
counted by their owner.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kubeio.resource import Resource
from kudo.api.names import ANNOTATION_PLAN_UID
from kudo_reconciler.common.keys import INVENTORIES
from tests.support.build import Json
from tests.support.cluster.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    INSTANCES,
    JOBS,
    OPERATORS,
    VERSIONS,
)

STATE = (
    INSTANCES,
    INVENTORIES,
    OPERATORS,
    VERSIONS,
    CONFIG_MAPS,
    Resource("", "v1", "Service", "services", namespaced=True),
    DEPLOYMENTS,
    Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True),
    JOBS,
    Resource("", "v1", "Pod", "pods", namespaced=True),
)
"""The kinds that make the state of a namespace."""
_COUNTED = {"Pod"}
_DROPPED = {
    "clusterIP",
    "clusterIPs",
    "collisionCount",
    "complete",  # of a record: a process that dies before the first write cannot know it
    "currentRevision",
    "generation",
    "managedFields",
    "observedGeneration",
    "resourceVersion",
    "suspendedSeconds",
    "uid",
    "updateRevision",
}
_INVENTORY = re.compile(r"\.[0-9a-f]{8}\.(\d+)$")
"""What follows the name of the Instance in that of an Inventory: a part of a uid, and a number."""
_HASH = re.compile(r"\.[0-9a-f]{8}(?:[0-9a-f]{8})?(?=\.|$)")
"""In names of events: of a uid, or of what else tells them apart."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_RUN = re.compile(r"-[0-9a-f]{10}\b")
"""What ends the name of the Job of a Job task: another one in each run."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

State = Mapping[str, object]


def canonical(objects: Iterable[Json], namespace: str) -> dict[str, object]:
    """Return what is there, by kind and name, without what differs from run to run."""
    state: dict[str, object] = {}
    pods: Counter[str] = Counter()
    for obj in objects:
        metadata = obj["metadata"]
        if obj["kind"] in _COUNTED:
            pods[str(metadata.get("generateName"))] += "deletionTimestamp" not in metadata
        else:
            name = _INVENTORY.sub(r".UID.\1", metadata["name"])
            name = name.replace(f"{namespace}-", "NAMESPACE-")  # of a cluster-scoped object
            name = without_run(name)
            while f"{obj['kind']}/{name}" in state:
                name = f"{name}, another"
            state[f"{obj['kind']}/{name}"] = _plain(obj, namespace)
    state["pods"] = {"-".join(name.split("-")[:2]): count for name, count in pods.items() if count}
    return state


def has_orphans(state: State) -> bool:
    """Return whether objects are left whose Instance is gone."""
    owners = _owners(state)
    return bool(state["pods"]) or any(f"{INSTANCES.kind}/{one}" not in state for one in owners)


def _owners(state: State) -> Iterator[str]:
    """Yield the names of the Instances that own an object."""
    for obj in state.values():
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
        yield from (owner["name"] for owner in owners or () if owner["kind"] == INSTANCES.kind)


def _plain(value: object, namespace: str) -> object:
    match value:
        case dict():
            # On record is a digest of what is cluster-scoped, which names the namespace.
            dropped = _DROPPED | {"digest"} if value.get("shared") is True else _DROPPED
            return {k: _plain(v, namespace) for k, v in value.items() if k not in dropped}
        case list():
            plain = [_plain(item, namespace) for item in value]
            return sorted(plain, key=repr) if all(isinstance(i, dict) for i in plain) else plain
        case str():
            text = _TIME.sub("TIME", _UUID.sub("UID", value)).replace(namespace, "NAMESPACE")
            return without_run(_INVENTORY.sub(r".UID.\1", text))
        case _:
            return value


def differences(expected: object, found: object, path: str = "") -> list[str]:
    """Return where two states differ, one line each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        lines = []
        for key in sorted({*expected, *found}):
            here = f"{path}.{key}" if path else str(key)
            if key not in found:
                lines.append(f"{here} is missing")
            elif key not in expected:
                lines.append(f"{here} is there: {_short(found[key])}")
            else:
                lines += differences(expected[key], found[key], here)
        return lines
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{path}[{i}]")]
    if expected == found:
        return []
    return [f"{path} is {_short(found)} instead of {_short(expected)}"]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a plan left.

    Attributes:
        uid: Of the execution.
        status: Of its entry.
        jobs: How often each Job was created under this uid.
        events: Reason and message of the events of the Instance that this stage added.
        state: What is in the namespace.
        seen: How often each write and watch event came by.
    """

    uid: str
    status: str
    jobs: Counter[str]
    events: list[str]
    state: State
    seen: Counter[str]


def compare(expected: Outcome, found: Outcome) -> list[str]:
    """Return what is wrong, one line each; nothing if the fault left no trace."""
    problems = [] if found.status == expected.status else [f"the plan is {found.status}"]
    problems += [
        f"Job {name} was created {found.jobs[name]} times for {found.uid}"
        for name in sorted({*expected.jobs, *found.jobs})
        if found.jobs[name] != expected.jobs[name]
    ]
    if not same_events(expected.events, found.events):
        problems.append(f"events {found.events} instead of {expected.events}")
    return problems + differences(expected.state, found.state)


def same_events(expected: list[str], found: list[str]) -> bool:
    """Return whether events are those that were expected; warnings may be missing.

    The next leader repeats starts and ends of runs, which the status tells, and no warnings. That
    a deletion was refused is told even if the next try succeeds.
    """
    lasting = [[event for event in some if _is_repeated(event)] for some in (expected, found)]
    more = {event for event in found if ".objectsnotpruned." not in event} - {*expected}
    return lasting[0] == lasting[1] and not more


def _is_repeated(event: str) -> bool:
    return event.partition(": ")[0].endswith((".started", ".finished"))


def execution_of(job: Json) -> str:
    """Return the uid of the execution that created a Job."""
    return str((job["metadata"].get("annotations") or {}).get(ANNOTATION_PLAN_UID, ""))


def without_run(text: str) -> str:
    """Return a text without what tells the Jobs of runs apart."""
    return _OF_RUN.sub("-RUN", text)


def event_texts(events: Iterable[Json], uid: str) -> list[str]:
    """Return the events of Instances as `name: message`, sorted; RUN is the uid of the run."""
    return sorted(
        without_run(
            f"{_plain_name(event['metadata']['name'].replace(uid, 'RUN'))}: {event['message']}"
        )
        for event in events
        if event["involvedObject"]["kind"] == INSTANCES.kind
    )


def _plain_name(name: str) -> str:
    return _HASH.sub(".HASH", _UUID.sub("UID", name))
