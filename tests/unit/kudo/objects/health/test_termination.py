"""What containers that failed say is shown if their template has it shown, and else never."""

from typing import Any

import orjson
import pytest

from kudo.api import JsonObject
from kudo.objects.health import (
    cause_of,
    health_of,
    read_fields,
    telling_pods,
    termination_message,
    unready_pods,
)
from kudo.objects.health.reading import LONGEST_TEXT
from kudo.tasks.pipe.pod import waits_for

SHOW = "kudo.dev/show-termination-message"
SAID = "NODE_COUNT is 4: use an odd number."


def failed(message: str = SAID, code: int = 1, name: str = "app") -> JsonObject:
    ended = {"exitCode": code, "reason": "Error", "message": message}
    return {"name": name, "state": {"terminated": ended}}


def pod(
    *statuses: JsonObject, show: Any = "true", phase: str = "Failed", **spec: Any
) -> JsonObject:
    metadata: JsonObject = {
        "name": "x-0",
        "namespace": "ns",
        "uid": "uid-x-0",
        "ownerReferences": [{"uid": "uid-x", "controller": True}],
    }
    if show is not None:
        metadata["annotations"] = {SHOW: show}
    status = {"phase": phase, "containerStatuses": [*statuses]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def with_policy(policy: str, name: str = "app") -> JsonObject:
    return {"name": name, "image": "web", "terminationMessagePolicy": policy}


def kept(obj: JsonObject) -> JsonObject:
    """Return a pod as a cache has it."""
    return {part: obj[part] for part in ("apiVersion", "kind", "metadata")} | read_fields(obj)


def cause(one: JsonObject) -> str:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "uid": "uid-x"}}
    found = cause_of(job, unready_pods(job, [one], []), patient=False)
    assert found is not None
    return found.text


TOLD = f"container app says: {SAID}"
UNTOLD = "pod ns/x-0: container app: Error: exit code 1; see its log: kubectl logs x-0 -n ns -c app"


def test_a_cause_says_what_the_container_says_and_then_what_to_do() -> None:
    what, do = UNTOLD.split("; ")
    assert cause(pod(failed())) == f"{what}; {TOLD}; {do}"


def test_without_the_right_annotation_a_cause_says_nothing_of_it() -> None:
    for show in [None, "false", "True", "1", "", True, {"a": 1}]:
        assert cause(pod(failed(), show=show)) == UNTOLD


def test_what_may_be_the_end_of_a_log_is_not_shown(subtests: pytest.Subtests) -> None:
    for policy, text in [("File", TOLD), ("FallbackToLogsOnError", ""), ("Other", "")]:
        with subtests.test(policy=policy, text=text):
            parts = [with_policy(policy)]
            for one in (pod(failed(), containers=parts), pod(failed(), initContainers=parts)):
                assert termination_message(one) == text
                assert termination_message(kept(one)) == text


def test_a_container_may_speak_when_another_one_may_not() -> None:
    silent = with_policy("FallbackToLogsOnError", "log")
    one = pod(failed("the log", name="log"), failed(), containers=[silent, with_policy("File")])
    assert termination_message(one) == termination_message(kept(one)) == TOLD


def test_the_first_container_that_failed_and_said_something_is_named() -> None:
    for before in [failed(code=0, name="done"), failed("", name="mute")]:
        assert termination_message(pod(before, failed(), failed("later", name="z"))) == TOLD


def test_a_container_that_is_started_again_says_what_it_said_before() -> None:
    waits = {"waiting": {"reason": "CrashLoopBackOff"}}
    again = {"name": "app", "state": waits, "lastState": failed()["state"]}
    one = pod(again, phase="Running")
    assert termination_message(one) == TOLD
    assert f"; {TOLD}; see its log: " in cause(one)


def test_a_container_that_has_succeeded_in_the_end_says_nothing() -> None:
    again = {**failed(code=0), "lastState": failed()["state"]}
    assert termination_message(pod(again)) == ""


def test_the_text_is_one_line_that_can_be_printed(subtests: pytest.Subtests) -> None:
    table = [
        ("one\ntwo\r\n\n three\t", "one two three"),
        ("\x1b[31mred\x1b[0m\x00\x07", "[31mred [0m"),
        ("a\u202eb\u200bc\u2028d\x85e\ud800f", "a b c d e f"),
        ("größer als 3 GiB", "größer als 3 GiB"),
    ]
    for message, text in table:
        with subtests.test(message=message, text=text):
            said = termination_message(pod(failed(message)))
            assert said == f"container app says: {text}"
            assert said.isprintable()


def test_a_message_of_nothing_that_can_be_read_is_none() -> None:
    for message in ["\n \x00", "\u200b"]:
        assert termination_message(pod(failed(message))) == ""


def test_a_long_message_is_cut_and_the_advice_stays() -> None:
    one = pod(failed("x" * 1_000_000))
    assert termination_message(one) == f"container app says: {'x' * 400}…"
    assert cause(one).endswith("…; see its log: kubectl logs x-0 -n ns -c app")
    assert len(orjson.dumps(read_fields(one))) < LONGEST_TEXT + 200


def test_a_pod_of_a_template_says_it_as_a_job_does() -> None:
    start = "pod ns/x-0 is not running yet: Failed"
    for show, text in [
        (None, f"{start} (app: Error: a b: exit code 1)"),
        ("true", f"{start} (app: Error: exit code 1; container app says: a b)"),
        ("false", f"{start} (app: Error: exit code 1)"),
    ]:
        one = pod(failed("a b"), show=show)
        assert health_of(one).message == health_of(kept(one)).message == text
    hidden = pod(failed("the log"), containers=[with_policy("FallbackToLogsOnError")])
    assert health_of(hidden).message == health_of(kept(hidden)).message
    assert "the log" not in health_of(hidden).message


def test_a_pipe_pod_says_why_its_init_container_fails_again_and_again() -> None:
    waits = {"waiting": {"reason": "CrashLoopBackOff"}}
    again = {"name": "look", "restartCount": 3, "state": waits, "lastState": failed()["state"]}
    one = pod(phase="Pending")
    one["status"]["initContainerStatuses"] = [again]
    assert f"; container look says: {SAID})" in waits_for(kept(one))
    assert waits_for(kept(one)) == waits_for(one)


def test_a_problem_of_another_sort_is_told_without_an_earlier_message() -> None:
    waits = {"waiting": {"reason": "ErrImagePull"}}
    again = {"name": "app", "image": "web", "state": waits, "lastState": failed()["state"]}
    assert SAID not in cause(pod(again, phase="Pending"))


def test_nothing_of_the_spec_is_kept_of_other_pods() -> None:
    parts = [with_policy("FallbackToLogsOnError")]
    assert "spec" not in read_fields(pod(failed(), show=None, containers=parts))
    assert "spec" not in read_fields(pod(failed(), containers=[with_policy("File")]))
    assert read_fields(pod(failed(), containers=parts))["spec"] == {
        "containers": [{"name": "app", "terminationMessagePolicy": "FallbackToLogsOnError"}]
    }


def test_the_pods_that_tell_are_those_of_the_object_and_stay() -> None:
    job = {"kind": "Job", "metadata": {"uid": "uid-x"}}
    going, other = pod(failed()), pod(failed())
    going["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    other["metadata"]["ownerReferences"] = [{"uid": "uid-x"}]
    mine = pod(failed())
    assert telling_pods(job, [going, other, pod(failed(), show="false"), mine]) == [mine]
    assert telling_pods({}, [pod(failed())]) == []


def test_odd_pods_say_nothing(subtests: pytest.Subtests) -> None:
    table: list[JsonObject] = [
        {"spec": [1], "status": 3},
        {"spec": {"containers": [{"terminationMessagePolicy": 3}]}, "status": {}},
        {"status": {"containerStatuses": [{"state": {"terminated": {"exitCode": "x"}}}, 3]}},
        {"status": {"containerStatuses": [{"state": {"terminated": {"message": [1]}}}]}},
    ]
    for odd in table:
        with subtests.test(odd=odd):
            one = {**pod(), **odd}
            assert termination_message(one) == termination_message(kept(one)) == ""
