"""Tells why an object is not ready: its pods, and the plan of the Instance that it belongs to."""

from collections.abc import Sequence
from typing import Any, Final

from kubectl_kudo.commands.plan.status import plan_tree
from kubectl_kudo.reading.plan_view import shown_plan
from kubectl_kudo.reading.runs import COMPLETE, NEVER_RUN, entries, status_of
from kubectl_kudo.session.blocks import Block
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.testing.failing.reading import first_page, session_of
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.kinds import PODS, REPLICA_SETS
from kudo.api import names
from kudo.objects.health import cause_of, has_pods, unready_pods

JsonObject = dict[str, Any]

_MOST: Final = 3
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


async def tree_of(client: Client, obj: JsonObject) -> list[str]:
    """Return the plan tree of the Instance of an object, as `plan status` prints it."""
    name = instance_of(obj)
    namespace = (obj.get("metadata") or {}).get("namespace")
    if not name or not namespace:
        return []
    session = session_of(client, str(namespace))
    instance = await session.instance(name)
    return [] if instance is None else _lines(await plan_tree(session, instance))


async def unfinished_trees(client: Client, namespace: str) -> list[str]:
    """Return the plan trees of Instances of a namespace whose plan is not COMPLETE, two at most.

    An object may be missing because the plan has not come so far.
    """
    session = session_of(client, namespace)
    try:
        instances = await first_page(client, INSTANCES, namespace)
    except NotFound:
        return []
    found: list[str] = []
    for instance in [one for one in instances if _unfinished(one)][:_MOST_TREES]:
        found += _lines(await plan_tree(session, instance))
    return found


def _unfinished(instance: JsonObject) -> bool:
    plan = shown_plan(instance)
    if plan is None:
        return True
    return status_of(entries(instance).get(plan) or {}) not in {COMPLETE, NEVER_RUN}


def _lines(blocks: Sequence[Block]) -> list[str]:
    lines = "".join(block.plain() for block in blocks).rstrip("\n").split("\n")
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
    more = len(lines) - _MOST
    return lines if more <= 0 else [*lines[:_MOST], f"and {more} more pods"]
