"""How containers of failed pods have ended, and which field allows what was not allowed."""

import pytest

from kudo.api import JsonObject
from kudo.api.names import LABEL_JOB_OF
from kudo.objects.health import advice_on, exit_of, job_failure, problem_of


def ended(name: str, code: int | None, **more: object) -> JsonObject:
    state = {} if code is None else {"terminated": {"exitCode": code, **more}}
    return {"name": name, "state": state}


def pod(*containers: JsonObject, init: tuple[JsonObject, ...] = (), **spec: object) -> JsonObject:
    return {
        "metadata": {"name": "p", "namespace": "ns", "labels": {LABEL_JOB_OF: "t"}},
        "spec": spec,
        "status": {
            "phase": "Failed",
            "initContainerStatuses": [*init],
            "containerStatuses": [*containers],
        },
    }


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (pod(ended("main", 3, reason="Error")), "container main ended with exit code 3"),
        (
            pod(ended("main", 137, reason="OOMKilled")),
            "container main ended with exit code 137 (OOMKilled)",
        ),
        (
            pod(ended("main", 1, message="  no\n\tspace\u202e left ")),
            "container main ended with exit code 1: no space left",
        ),
        (pod(ended("log", 0), ended("main", 2)), "container main ended with exit code 2"),
        (
            pod(ended("main", None), init=(ended("prepare", 4),)),
            "container prepare ended with exit code 4",
        ),
    ],
)
def test_the_first_container_that_failed_tells(obj: JsonObject, text: str) -> None:
    assert str(exit_of(obj)) == text


@pytest.mark.parametrize(
    "obj",
    [
        {},
        pod(),
        pod(ended("main", 0)),
        pod({"name": "main", "state": {"running": {}}}),
        pod({"name": "main", "state": "odd"}),
    ],
)
def test_a_pod_of_which_nothing_failed_tells_nothing(obj: JsonObject) -> None:
    assert exit_of(obj) is None


def test_the_end_of_a_log_is_never_told() -> None:
    logged = {"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError"}
    obj = pod(ended("main", 1, message="password=1234"), containers=[logged])
    assert str(exit_of(obj)) == "container main ended with exit code 1"


def test_a_message_is_bounded() -> None:
    told = exit_of(pod(ended("main", 1, message="x" * 10**6)))
    assert told is not None
    assert len(told.message) == 4097


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("touch: /a: Read-only file system", "readOnlyRootFilesystem: false"),
        ("chown: Operation not permitted", "securityContext.capabilities.add"),
    ],
)
def test_a_message_that_follows_from_a_restriction_names_the_field(
    message: str, field: str
) -> None:
    told = exit_of(pod(ended("main", 1, message=message)))
    assert told is not None
    assert field in told.advice
    assert told.advice.endswith("in the podTemplate of the task") or field in str(told)


@pytest.mark.parametrize("labels", [{}, {LABEL_JOB_OF: "t"}])
def test_an_image_that_runs_as_root_is_told_with_the_field_that_allows_it(
    labels: JsonObject,
) -> None:
    waiting = {
        "reason": "CreateContainerConfigError",
        "message": "container has runAsNonRoot and image will run as root (pod: p, container: c)",
    }
    obj: JsonObject = {
        "metadata": {"name": "p", "labels": labels},
        "status": {
            "phase": "Pending",
            "containerStatuses": [{"name": "c", "state": {"waiting": waiting}}],
        },
    }
    problem = problem_of(obj)
    assert problem is not None
    advice = advice_on(obj, problem)
    assert "spec.securityContext.runAsNonRoot: false allows root" in advice
    assert ("podTemplate of the task" in advice) is bool(labels)


def test_a_job_says_why_it_has_failed() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "slow"}
    assert job_failure({"status": {"conditions": [failed]}}) == "DeadlineExceeded: slow"
    assert job_failure({}) == "no reason is given"
