"""What caches keep of an object's body: enough for every rule, and little."""

import copy
from typing import Any, Final

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.api.names import ANNOTATION_SHOW_TERMINATION_MESSAGE
from kudo.objects.health import health_of, read_fields, termination_message
from kudo.objects.health.reading import LONGEST_TEXT
from kudo.tasks.pipe.pod import has_ended, waits_for
from tests.unit.kudo.objects.health.test_truth_table import TABLE, WITH_A_RULE

_NAMES: Final = (
    *("type", "status", "reason", "message", "observedGeneration", "conditions", "phase"),
    *("replicas", "updatedReplicas", "availableReplicas", "readyReplicas", "updateStrategy"),
    *("rollingUpdate", "partition", "updateRevision", "currentRevision", "volumeName"),
    *("clusterIP", "externalIPs", "loadBalancer", "ingress", "planExecution", "planName", "uid"),
    *("planStatus", "lastRun", "plan", "name", "phases", "steps", "lastUpdatedTimestamp"),
    *("containerStatuses", "initContainerStatuses", "state", "lastState", "waiting", "terminated"),
    *("exitCode", "restartCount", "deploy", "numberAvailable", "desiredNumberScheduled"),
)
_TEXTS: Final = ("", "1", "True", "Running", "Failed", "Ready", "Stalled", "deploy", "FATAL_ERROR")
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(_TEXTS),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(_NAMES), below, min_size=1, max_size=4)
    ),
    max_leaves=15,
)
_conditions = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ("Ready", "Stalled", "Reconciling", "Complete", "Failed", "Progressing")
            ),
            "status": st.sampled_from(("True", "False", "Unknown")),
        },
        optional={"reason": st.text(max_size=3), "observedGeneration": st.integers(0, 3)},
    ),
    max_size=4,
)
_status = st.dictionaries(st.sampled_from(_NAMES), _values) | st.fixed_dictionaries(
    {"conditions": _conditions}, optional={"observedGeneration": st.integers(0, 3)}
)


def kept(obj: JsonObject) -> JsonObject:
    """Return an object as a cache has it."""
    return {**{part: obj.get(part) for part in ("apiVersion", "kind", "metadata")}} | read_fields(
        obj
    )


def test_each_row_of_the_truth_table_is_judged_by_what_is_kept() -> None:
    before = copy.deepcopy(TABLE)
    judged = {row.id: health_of(kept(row.object)) for row in TABLE}
    assert judged == {row.id: row.expected for row in TABLE}
    assert before == TABLE


@given(st.sampled_from(sorted(WITH_A_RULE)), _values, _status, st.integers(0, 3))
@example(("kudo.dev/v1beta1", "Instance"), None, {"observedGeneration": 1, "lastRun": {"x": 1}}, 1)
def test_any_object_is_judged_by_what_is_kept(
    kind: tuple[str, str], spec: Any, status: Any, generation: int
) -> None:
    metadata = {"name": "x", "namespace": "ns", "generation": generation}
    obj = {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}
    obj |= {"spec": spec, "status": status}
    assert health_of(kept(obj)) == health_of(obj)


_ended = st.fixed_dictionaries(
    {},
    optional={
        "exitCode": st.integers(0, 2),
        "reason": st.just("E"),
        "message": st.sampled_from(("", "why", "\x1bwhy\n")),
    },
)
_state = st.fixed_dictionaries(
    {},
    optional={
        "running": st.just({"startedAt": "t"}),
        "terminated": _ended,
        "waiting": st.just({"reason": "CrashLoopBackOff", "message": "m"}),
    },
)
_containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.just("c"), "restartCount": st.integers(0, 2), "image": st.just("i")},
        optional={"state": _state, "lastState": _state},
    ),
    max_size=2,
)


@given(st.sampled_from(("Pending", "Running", "Failed")), _containers, _containers)
def test_a_pipe_pod_says_the_same_of_itself(phase: str, init: Any, main: Any) -> None:
    status = {"phase": phase, "initContainerStatuses": init, "containerStatuses": main}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": status}
    assert waits_for(kept(pod)) == waits_for(pod)
    assert has_ended(kept(pod)) == has_ended(pod)


_policies = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(("c", "d"))},
        optional={
            "terminationMessagePolicy": st.sampled_from(("File", "FallbackToLogsOnError", 3, None))
        },
    ),
    max_size=2,
)


@given(
    st.sampled_from(("true", "false", True, None)),
    st.fixed_dictionaries({}, optional={"containers": _policies, "initContainers": _policies}),
    st.sampled_from(("Pending", "Running", "Failed")),
    _containers,
)
def test_a_pod_that_shows_its_message_shows_the_same_of_what_is_kept(
    show: Any, spec: Any, phase: str, containers: Any
) -> None:
    annotations = {ANNOTATION_SHOW_TERMINATION_MESSAGE: show}
    metadata = {"name": "p", "annotations": annotations}
    status = {"phase": phase, "containerStatuses": containers}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    assert health_of(kept(pod)) == health_of(pod)
    assert termination_message(kept(pod)) == termination_message(pod)
    assert show == "true" or not termination_message(pod)


def test_a_custom_resource_keeps_its_conditions_alone() -> None:
    ready = {"type": "Ready", "status": "False", "message": "m", "lastTransitionTime": "t"}
    other = {"type": "Other", "status": "True"}
    obj = {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "x"},
        "spec": {"data": "x" * 300_000},
        "status": {"conditions": [other, ready, ready], "log": "y" * 300_000},
    }
    assert read_fields(obj) == {
        "status": {"conditions": [{"type": "Ready", "status": "False", "message": "m"}]}
    }


def test_a_text_of_any_length_is_kept_in_part() -> None:
    said = {"type": "Ready", "status": "False", "message": "x" * 1_000_000}
    obj = {"apiVersion": "a/v1", "kind": "T", "metadata": {"name": "x"}}
    obj |= {"status": {"conditions": [said]}}
    assert len(orjson.dumps(read_fields(obj))) < LONGEST_TEXT + 100
    assert health_of(kept(obj)) == health_of(obj)
    assert len(health_of(obj).message) < LONGEST_TEXT + 100
