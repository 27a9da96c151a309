"""Reads what explains a failure, with bounded requests; what cannot be read is said in a word.

What there is instead of an object that does not exist, and why one is not ready: its events, its
pods, and the plan of the Instance that it belongs to.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import KubeError, NotFound
from kubeio.resource import EVENTS, PODS, REPLICA_SETS, SECRETS, Resource
from kubeio.types import JsonObject, Transform
from kudo.api import names
from kudo.api.known_secrets import KnownValues
from kudo.api.problems import shown
from kudo.api.task_errors import cause_in
from kudo.objects.health import cause_of, has_pods, unready_pods
from kudo.redaction.objects import Redactor
from kudo_harness.failing.failed import FailedAssert
from kudo_harness.findings import closest
from kudo_harness.host import HarnessError, Host

_SECONDS: Final = 15.0
"""For all requests of one section."""
_MOST_EVENTS: Final = 10
_MOST: Final = 100
"""Objects of one list."""
_LONGEST_EVENT: Final = 400
_LONGEST_SECRET: Final = 8_192
"""Characters of a value of a Secret, in base64."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the details of a failure.

    Attributes:
        title: Its first line.
        lines: What it tells; without any, it is left out.
    """

    title: str
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((f"{self.title}:", *(f"  {line}".rstrip() for line in self.lines)))


async def section(host: Host, title: str, lines: Awaitable[list[str]]) -> Section:
    """Return a section, or one that says why it could not be read."""
    try:
        async with asyncio.timeout(_SECONDS):
            return Section(title, tuple(await lines))
    except TimeoutError:
        why = f"no answer within {_SECONDS:.0f} s"
    except (KubeError, HarnessError) as error:
        why = host.describe(error) or str(error)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Objects of a case may have any shape, where no schema forbids it.
        why = f"an object is not as expected ({type(error).__name__})"
    return Section(title, (f"(cannot be read: {why})",))


async def first_page(
    client: Client,
    resource: Resource,
    namespace: str | None,
    *,
    field_selector: str = "",
    metadata_only: bool = False,
    transform: Transform | None = None,
) -> list[JsonObject]:
    """Return the first objects of a list, 100 at most."""
    pages = client.pages(
        resource,
        namespace=namespace,
        field_selector=field_selector or None,
        limit=_MOST,
        metadata_only=metadata_only,
        transform=transform,
    )
    async with aclosing(pages):
        async for page in pages:
            return page.items
    return []


async def redactor_of(client: Client, namespace: str, names: Iterable[str] = ()) -> Redactor:
    """Return what removes the values of a namespace's Secrets, as far as they may be read.

    Args:
        client: The connection.
        namespace: The namespace.
        names: Names that stay readable although a secret may be the same, such as of objects.
    """
    redactor = Redactor(KnownValues(public={namespace, *names}))
    try:
        async with asyncio.timeout(_SECONDS):
            redactor.learn(await first_page(client, SECRETS, namespace, transform=_short_values))
    except (KubeError, TimeoutError):
        # Not everybody may read Secrets. The log of the run removes those that the run has applied.
        pass
    return redactor


def _short_values(secret: JsonObject) -> JsonObject:
    """Leave out long values, such as releases of Helm: a message can show the beginning alone."""
    data = secret.get("data")
    if not isinstance(data, dict):
        return secret
    short = {key: value for key, value in data.items() if len(str(value)) <= _LONGEST_SECRET}
    return {**secret, "data": short}


async def event_lines(client: Client, obj: JsonObject, redactor: Redactor) -> list[str]:
    """Return the newest events of an object, oldest first."""
    metadata = obj.get("metadata") or {}
    namespace, uid = metadata.get("namespace") or "default", metadata.get("uid")
    if not uid:
        return []
    events = await first_page(client, EVENTS, namespace, field_selector=f"involvedObject.uid={uid}")
    # Several events have the same second; etcd numbers them in the order of their writes.
    events.sort(key=lambda event: (_last_seen(event), _written(event)))
    return [redactor.text(_event_line(event)) for event in events[-_MOST_EVENTS:]]


def _last_seen(event: JsonObject) -> str:
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return str(next(filter(None, times), ""))


def _written(obj: JsonObject) -> int:
    version = str((obj.get("metadata") or {}).get("resourceVersion") or "")
    return int(version) if version.isdecimal() else 0


def _event_line(event: JsonObject) -> str:
    message = " ".join(cause_in(str(event.get("message") or "")).split())[:_LONGEST_EVENT]
    count = int((event.get("series") or {}).get("count") or event.get("count") or 1)
    times = f" (x{count})" if count > 1 else ""
    kind, reason = str(event.get("type") or ""), str(event.get("reason") or "")
    return f"{_last_seen(event)} {kind} {reason}: {message}{times}"


_MOST_NAMES: Final = 5
_MOST_KINDS: Final = 40
"""Kinds that are searched for the name: each takes one request."""
_AT_A_TIME: Final = 8


def absent_message(failed: FailedAssert, resource: Resource | None, namespace: str) -> str:
    """Return that an object does not exist, in one sentence."""
    scoped = resource is not None and not resource.namespaced
    where = "" if scoped else f" in namespace {failed.namespace(namespace)}"
    if failed.name:
        return f"{failed.kind} {failed.name} does not exist{where}"
    labels = ",".join(f"{key}={value}" for key, value in failed.labels.items())
    with_labels = f" with the labels {shown(labels, 200)}" if labels else ""
    return f"there is no {failed.kind}{with_labels}{where}"


async def others_of_kind(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    """Return the names of the kind that there are, nearest first."""
    where = failed.namespace(namespace) if resource.namespaced else None
    objects = await first_page(client, resource, where, metadata_only=True)
    if not objects:
        return [f"no {failed.kind} at all"]
    if failed.name:
        ordered = sorted(str(obj["metadata"]["name"]) for obj in objects)
        near = closest(failed.name, ordered, most=_MOST_NAMES)
        names = [*near, *(name for name in ordered if name not in near)]
        return [f"{failed.kind} {name}" for name in names[:_MOST_NAMES]] + _more(names)
    lines = [f"{failed.kind} {obj['metadata']['name']}{_labels(obj)}" for obj in objects]
    return lines[:_MOST_NAMES] + _more(lines)


async def elsewhere(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    """Return objects of the same name in other namespaces, and of other kinds in the same one."""
    if not failed.name:
        return []
    where = failed.namespace(namespace)
    in_others, of_others = await asyncio.gather(
        _in_other_namespaces(client, failed, resource, where),
        _of_other_kinds(client, failed, resource, where),
    )
    return in_others + of_others


async def _in_other_namespaces(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    if not resource.namespaced:
        return []
    selector = f"metadata.name={failed.name}"
    try:
        objects = await first_page(
            client, resource, None, field_selector=selector, metadata_only=True
        )
    except KubeError:  # not everybody may read all namespaces
        return []
    others = [str(obj["metadata"].get("namespace")) for obj in objects]
    return [
        f"{failed.kind} {failed.name} in namespace {other}"
        for other in others
        if other != namespace
    ][:_MOST_NAMES]


async def _of_other_kinds(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    kinds = _searched(await Discovery(client).all_resources(), resource)
    # Other cases send requests at the same time.
    room = asyncio.Semaphore(_AT_A_TIME)

    async def has(kind: Resource) -> bool:
        selector = f"metadata.name={failed.name}"
        async with room:
            try:
                return bool(
                    await first_page(
                        client, kind, namespace, field_selector=selector, metadata_only=True
                    )
                )
            except KubeError:
                # Not everybody may read each kind.
                return False

    results = await asyncio.gather(*map(has, kinds))
    return [
        f"{kind.kind} {failed.name} ({kind.api_version})"
        for kind, exists in zip(kinds, results, strict=True)
        if exists
    ]


def _searched(resources: Iterable[Resource], own: Resource) -> Sequence[Resource]:
    """Return the kinds in which the name is looked for, those of workloads first."""
    by_kind: dict[tuple[str, str], Resource] = {}
    for resource in resources:
        usual = resource.namespaced and resource.verbs >= {"list", "create", "delete"}
        if usual and resource.kind not in {own.kind, "Event"}:
            by_kind.setdefault((resource.group, resource.kind), resource)
    return sorted(
        by_kind.values(), key=lambda resource: (resource.group not in {"", "apps"}, resource.group)
    )[:_MOST_KINDS]


def _more(names: Sequence[str]) -> list[str]:
    more = len(names) - _MOST_NAMES
    return [f"and {more} more"] if more > 0 else []


def _labels(obj: JsonObject) -> str:
    labels = obj["metadata"].get("labels") or {}
    text = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return f" (labels {shown(text, 200)})" if text else " (no labels)"


_INSTANCES: Final = Resource(*names.INSTANCES)
_MOST_PODS: Final = 3
_MOST_LINES: Final = 60
_MOST_TREES: Final = 2


def instance_of(obj: JsonObject) -> str:
    """Return the name of the Instance that an object is, or belongs to; empty if of none."""
    metadata = obj.get("metadata") or {}
    group = str(obj.get("apiVersion") or "").partition("/")[0]
    if group == names.GROUP and obj.get("kind") == "Instance":
        return str(metadata.get("name") or "")
    labels = metadata.get("labels") or {}
    return str(labels.get(names.LABEL_INSTANCE) or "")


async def tree_of(host: Host, client: Client, obj: JsonObject) -> list[str]:
    """Return the plan tree of the Instance of an object, as `plan status` prints it."""
    name = instance_of(obj)
    namespace = (obj.get("metadata") or {}).get("namespace")
    if not name or not namespace:
        return []
    try:
        instance = await client.get(_INSTANCES, name, namespace=str(namespace))
    except NotFound:
        return []
    return _lines(await host.plan_tree(client, instance))


async def unfinished_trees(host: Host, client: Client, namespace: str) -> list[str]:
    """Return the plan trees of Instances of a namespace whose plan is not COMPLETE, two at most.

    An object may be missing because the plan has not come so far.
    """
    try:
        instances = await first_page(client, _INSTANCES, namespace)
    except NotFound:
        return []
    ended = {"COMPLETE", "NEVER_RUN"}
    unfinished = [each for each in instances if host.plan_status(each) not in ended]
    lines: list[str] = []
    for instance in unfinished[:_MOST_TREES]:
        lines += _lines(await host.plan_tree(client, instance))
    return lines


def _lines(tree: str) -> list[str]:
    lines = tree.rstrip("\n").split("\n")
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"… {more} more lines"]


async def pod_lines(client: Client, obj: JsonObject) -> list[str]:
    """Return why an object waits for its pods, or the pod itself is not ready; a line for each."""
    namespace = (obj.get("metadata") or {}).get("namespace")
    if obj.get("kind") == "Pod" and obj.get("apiVersion") == "v1":
        cause = cause_of(obj, (), patient=True)
        return [cause.text] if cause else []
    if not has_pods(obj) or not namespace:
        return []
    pods = await first_page(client, PODS, namespace)
    replica_sets: list[JsonObject] = []
    if obj.get("kind") == "Deployment":
        replica_sets = await first_page(client, REPLICA_SETS, namespace, metadata_only=True)
    unready = unready_pods(obj, pods, replica_sets)
    causes = (cause_of(obj, [pod], patient=True) for pod in unready)
    lines = [cause.text for cause in causes if cause is not None]
    more = len(lines) - _MOST_PODS
    return lines if more <= 0 else [*lines[:_MOST_PODS], f"and {more} more pods"]
