"""The one line that tells how an Instance is."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kubectl_kudo.reading.summary_line import NO_LEADER, is_held_up, is_settled, summary_line
from kubectl_kudo.session.output import JsonObject
from kudo.api.names import FINALIZER_CLEANUP

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
BEFORE, LATER = "2030-01-01T11:55:00Z", "2030-01-01T11:59:30Z"
READY = {"type": "Ready", "status": "True", "reason": "ResourcesReady", "message": ""}


def instance(
    *, plan: str = "", uid: str = "run", metadata: JsonObject | None = None, **status: Any
) -> JsonObject:
    execution = {"planName": plan, "uid": uid} if plan else {}
    named = {"name": "tea", "namespace": "kitchen", "uid": "u"}
    spec: JsonObject = {"planExecution": execution}
    return {"metadata": {**named, **(metadata or {})}, "spec": spec, "status": status}


def entries(state: str, message: str = "", **task: Any) -> JsonObject:
    step = {"name": "app", "status": state, "message": message, "tasks": [task] if task else []}
    phase = {"name": "main", "status": state, "steps": [step]}
    times = {"startedAt": BEFORE, "lastUpdatedTimestamp": LATER}
    run = {"name": "deploy", "uid": "run", "status": state, "phases": [phase]}
    return {"deploy": {**run, **times}}


def ready(**fields: str) -> list[JsonObject]:
    return [{**READY, **fields}]


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (instance(), "no plan has run yet"),
        (instance(conditions=ready()), "Ready (ResourcesReady)"),
        (
            instance(
                conditions=ready(
                    status="False",
                    reason="ResourceNotReady",
                    message="deployment\ntea",
                    lastTransitionTime=LATER,
                )
            ),
            "not ready for 30s: ResourceNotReady: deployment tea",
        ),
        (
            instance(conditions=ready(), notInForce={"parameters": ["CUPS"], "plan": "deploy"}),
            "Ready (ResourcesReady); not in force: CUPS (plan deploy is about to run)",
        ),
        (
            instance(plan="deploy", planStatus=entries("IN_PROGRESS")),
            "plan deploy runs for 5m at main.app",
        ),
        (
            instance(
                plan="deploy",
                planStatus=entries(
                    "IN_PROGRESS", "not yet", name="pot", status="IN_PROGRESS", startedAt=LATER
                ),
            ),
            "plan deploy waits for 30s at main.app: not yet",
        ),
        (
            instance(
                plan="deploy",
                planStatus=entries(
                    "IN_PROGRESS",
                    'deployment "tea" is not healthy: Waiting...: pod kitchen/tea-0: container '
                    "brew: ImagePullBackOff",
                ),
            ),
            "plan deploy waits for 5m at main.app: pod tea-0: container brew: ImagePullBackOff",
        ),
        (
            instance(
                plan="deploy",
                planStatus=entries(
                    "ERROR",
                    "A transient error when executing task deploy.main.app.pot. Will retry. no",
                ),
            ),
            "plan deploy waits for 5m at main.app: no",
        ),
        (
            instance(
                planStatus=entries(
                    "FATAL_ERROR",
                    "Error during execution: fatal error: kitchen/tea failed in "
                    "deploy.main.app.pot: it broke",
                )
            ),
            "plan deploy failed 30s ago at main.app: it broke",
        ),
        (
            instance(plan="deploy", metadata={"creationTimestamp": LATER}),
            "plan deploy scheduled 30s ago and not begun: no reconciler holds the Lease",
        ),
        (
            instance(plan="deploy", uid="new", planStatus=entries("COMPLETE")),
            "plan deploy scheduled and not begun: no reconciler holds the Lease",
        ),
        (
            instance(metadata={"deletionTimestamp": BEFORE, "finalizers": [FINALIZER_CLEANUP]}),
            "being deleted for 5m: no reconciler holds the Lease",
        ),
        (
            instance(
                metadata={"deletionTimestamp": BEFORE, "finalizers": [FINALIZER_CLEANUP, "a/b"]}
            ),
            "being deleted for 5m: held by finalizer a/b (the controller of a)",
        ),
        (
            instance(metadata={"deletionTimestamp": BEFORE, "finalizers": ["foregroundDeletion"]}),
            "being deleted for 5m: waits until its objects are deleted",
        ),
        (
            instance(
                plan="deploy",
                metadata={"deletionTimestamp": BEFORE, "finalizers": [FINALIZER_CLEANUP]},
                planStatus=entries("IN_PROGRESS", "not yet"),
            ),
            "being deleted for 5m: plan deploy waits for 5m at main.app: not yet",
        ),
    ],
)
def test_how_an_instance_is(obj: JsonObject, said: str) -> None:
    assert summary_line(obj, NOW, hindrance=NO_LEADER) == f"tea: {said}"


def test_a_pause_is_told_before_the_plan_that_it_holds_up() -> None:
    obj = instance(plan="deploy", planStatus=entries("IN_PROGRESS"))
    obj["spec"]["suspend"] = True
    text = summary_line(obj, NOW)
    assert text.startswith("tea: suspended; ")
    assert text.endswith(" (kubectl kudo resume --instance tea -n kitchen); plan deploy waits")


def test_without_a_known_hindrance_none_is_told() -> None:
    obj = instance(plan="deploy", metadata={"creationTimestamp": LATER})
    assert summary_line(obj, NOW) == "tea: plan deploy scheduled 30s ago and not begun"
    deleted = instance(metadata={"deletionTimestamp": BEFORE})
    assert summary_line(deleted, NOW) == "tea: being deleted for 5m: waits for the reconciler"


def test_when_a_later_run_was_scheduled_is_in_the_managed_fields() -> None:
    fields: JsonObject = {"f:spec": {"f:planExecution": {"f:uid": {}}}}
    managed = [
        {"time": LATER, "fieldsV1": fields},
        {"time": "2030-01-01T11:59:59Z", "fieldsV1": {"f:status": {}}},
        {"time": "2030-01-01T11:59:59Z"},
    ]
    known = entries("COMPLETE")
    obj = instance(plan="deploy", uid="new", metadata={"managedFields": managed}, planStatus=known)
    assert summary_line(obj, NOW) == "tea: plan deploy scheduled 30s ago and not begun"


def test_a_run_that_has_begun_is_not_held_up() -> None:
    begun = instance(plan="deploy", planStatus=entries("IN_PROGRESS"), conditions=ready())
    assert (is_held_up(begun), is_settled(begun)) == (False, True)
    pending = instance(plan="deploy", uid="new", conditions=ready())
    assert (is_held_up(pending), is_settled(pending)) == (True, False)
    assert not is_settled(instance())
