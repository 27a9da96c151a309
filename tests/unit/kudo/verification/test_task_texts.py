"""The words of tasks that cannot run, letter by letter: people search for them."""

import pytest

from kudo.api import Task
from kudo.api.task_kinds import FatalTaskError, TaskError, TaskPath, TransientTaskError, check_task
from kudo.api.task_kinds.kinds import dummy_done, toggled_on

PATH = TaskPath("ns/i", "deploy", "ph0", "s1", "x")
PREFIX = "task validation error: "
USE_DUMMY = "has an empty resource list. if that's what you need, use a Dummy task instead"
KEY_RULE = "invalid pipe key (only letters, numbers and _ and - are allowed)"
LEAVE = "there is a name as well; leave one of them out"
EITHER = "must have either 'file' or 'envFile' field set but not both"


def task(kind: str, **spec: object) -> Task:
    return Task.from_wire({"name": "x", "kind": kind, "spec": spec})


def refused(desired: Task) -> str:
    with pytest.raises(FatalTaskError) as caught:
        check_task(desired)
    assert caught.value.reason == "TaskBuildError"
    return str(caught.value)


def pipe(**item: object) -> Task:
    return task("Pipe", pod="pod.yaml", pipe=[item])


def check(**fields: object) -> Task:
    whole = {"apiVersion": "v1", "kind": "Pod", "name": "p", "until": "true", **fields}
    return task("Check", check=whole)


# Construction


def test_a_task_that_lacks_something_is_refused_in_the_words_of_the_original() -> None:
    table: list[tuple[Task, str]] = [
        (task("Apply"), f"{PREFIX}apply task 'x' {USE_DUMMY}"),
        (task("Delete"), f"{PREFIX}delete task 'x' {USE_DUMMY}"),
        (task("Toggle", parameter="A"), f"{PREFIX}toggle task {USE_DUMMY}"),
        (task("Toggle"), f"{PREFIX}toggle task {USE_DUMMY}"),
        (
            task("Toggle", resources=["a"]),
            f"{PREFIX}Missing parameter to evaluate the Toggle Task",
        ),
        (
            task("Toggle", resources=["a"], parameter=""),
            f"{PREFIX}Missing parameter to evaluate the Toggle Task",
        ),
        (task("Pipe"), f"{PREFIX}pipe task has an empty pipe files list"),
        (
            task("Check"),
            f"{PREFIX}check task 'x': check: is needed: the objects, and what is waited for",
        ),
        (check(apiVersion=""), f"{PREFIX}check task 'x': check.apiVersion: is needed"),
        (check(kind=""), f"{PREFIX}check task 'x': check.kind: is needed"),
        (check(until=""), f"{PREFIX}check task 'x': check.until: is needed"),
        (check(name=""), f"{PREFIX}check task 'x': check: needs a name or a selector"),
        (
            check(selector={"a": "b"}),
            f"{PREFIX}check task 'x': check.selector: {LEAVE}",
        ),
        (
            task("KudoOperator", operatorVersion="1"),
            f"{PREFIX}kudo operator task 'x' has an empty package name",
        ),
        (
            task("KudoOperator"),
            f"{PREFIX}kudo operator task 'x' has an empty package name",
        ),
        (
            task("KudoOperator", package="p"),
            f"{PREFIX}kudo operator task 'x' has an empty operatorVersion",
        ),
    ]
    for desired, text in table:
        assert refused(desired) == text


def test_a_pipe_that_cannot_be_is_refused_in_the_words_of_the_original() -> None:
    table: list[tuple[dict[str, object], str]] = [
        (
            {"file": "/a", "envFile": "/b", "kind": "Secret", "key": "k"},
            f"pipe file {{/a /b Secret k}} {EITHER}",
        ),
        ({"kind": "Secret", "key": "k"}, f"pipe file {{Secret k}} {EITHER}"),
        (
            {"file": "", "envFile": "", "kind": "Secret", "key": "k"},
            f"pipe file {{Secret k}} {EITHER}",
        ),
        (
            {"file": "/a", "kind": "Pod", "key": "k"},
            "invalid pipe kind (must be Secret or ConfigMap): {/a Pod k}",
        ),
        (
            {"file": "/a", "kind": "configmap", "key": "k"},
            "invalid pipe kind (must be Secret or ConfigMap): {/a configmap k}",
        ),
        (
            {"file": "/a", "key": "k"},
            "invalid pipe kind (must be Secret or ConfigMap): {/a k}",
        ),
        ({"file": "/a", "kind": "Secret", "key": ""}, f"{KEY_RULE}: {{/a Secret}}"),
        ({"file": "/a", "kind": "Secret", "key": "a b"}, f"{KEY_RULE}: {{/a Secret a b}}"),
        ({"envFile": "/a", "kind": "Secret", "key": "a.b"}, f"{KEY_RULE}: {{/a Secret a.b}}"),
        ({"envFile": "/a", "kind": "Secret", "key": "ä"}, f"{KEY_RULE}: {{/a Secret ä}}"),
    ]
    for item, text in table:
        assert refused(pipe(**item)) == PREFIX + text


@pytest.mark.parametrize("key", ["a", "Z", "0", "_", "-", "a-B_9", "x" * 253])
@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize("source", ["file", "envFile"])
def test_a_pipe_with_a_source_a_kind_and_a_key_is_accepted(
    source: str, kind: str, key: str
) -> None:
    check_task(pipe(kind=kind, key=key, **{source: "/a"}))


def test_the_first_wrong_pipe_is_the_one_that_is_named() -> None:
    good = {"file": "/a", "kind": "Secret", "key": "k"}
    bad = [{**good, "key": "b.c"}, {**good, "kind": "Pod"}]
    assert refused(task("Pipe", pipe=[good, *bad])) == f"{PREFIX}{KEY_RULE}: {{/a Secret b.c}}"


def test_a_kind_by_another_letter_is_unknown() -> None:
    table = ["apply", "DELETE", "toggle", "pipe", "Kudooperator", "dummy", "", "Nonsense"]
    for kind in table:
        assert refused(task(kind, resources=["a"])) == f"unknown task kind {kind}"


def test_a_dummy_lacks_nothing() -> None:
    for spec in ({}, {"done": True}, {"wantErr": True, "fatal": True}):
        check_task(task("Dummy", **spec))


# Toggle


def toggle(values: dict[str, object], parameter: str = "X") -> bool:
    return toggled_on(task("Toggle", resources=["a"], parameter=parameter), values)


def test_a_toggle_without_a_text_says_so_in_the_words_of_the_original(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[dict[str, object], str]] = [
        ({}, "no value for parameter X found"),
        ({"x": "true"}, "no value for parameter X found"),
        ({"X": []}, "value of parameter X isn't a string"),
        ({"X": {"a": "b"}}, "value of parameter X isn't a string"),
        ({"X": True}, "value of parameter X isn't a string"),
        ({"X": 1}, "value of parameter X isn't a string"),
    ]
    for values, text in table:
        with subtests.test(values=values, text=text):
            with pytest.raises(FatalTaskError) as caught:
                toggle(values)
            assert (caught.value.reason, str(caught.value)) == ("ToggleTaskError", text)


def test_a_text_that_go_reads_as_no_boolean_is_refused_as_go_words_it(
    subtests: pytest.Subtests,
) -> None:
    for value in ["", "yes", "on", "2", "tRue", "FalsE", "true ", "\ttrue", "nil"]:
        with subtests.test(value=value):
            with pytest.raises(FatalTaskError) as caught:
                toggle({"X": value})
            assert caught.value.reason == "ToggleTaskError"
            expected = (
                "could not parse value of parameter X: strconv.ParseBool: "
                f'parsing "{value}": invalid syntax'
            )
            assert str(caught.value).startswith(expected)
            assert str(caught.value).endswith("use true or false")


TRUE = ("1", "t", "T", "TRUE", "true", "True")
FALSE = ("0", "f", "F", "FALSE", "false", "False")


def test_the_twelve_texts_that_go_reads_as_booleans_are_read() -> None:
    assert [toggle({"X": text}) for text in TRUE + FALSE] == [True] * 6 + [False] * 6


# Dummy


def test_a_wanted_error_beats_done(subtests: pytest.Subtests) -> None:
    table: list[tuple[bool | None, type[TaskError]]] = [
        (True, FatalTaskError),
        (False, TransientTaskError),
        (None, TransientTaskError),
    ]
    for fatal, kind in table:
        for done in [None, False, True]:
            with subtests.test(done=done, fatal=fatal, kind=kind):
                with pytest.raises(TaskError) as caught:
                    dummy_done(task("Dummy", wantErr=True, fatal=fatal, done=done))
                assert type(caught.value) is kind
                assert (caught.value.reason, str(caught.value)) == ("DummyTaskError", "dummy error")


def test_without_a_wanted_error_done_alone_counts() -> None:
    for done in [None, False, True]:
        for fatal in [None, False, True]:
            assert dummy_done(task("Dummy", fatal=fatal, wantErr=False, done=done)) is bool(done)


# The words around


def test_a_fatal_failure_names_instance_task_and_cause() -> None:
    error = FatalTaskError("ToggleTaskError", "no value for parameter X found")
    assert PATH.fatal_message(error) == (
        "Error during execution: fatal error: ns/i failed in deploy.ph0.s1.x: "
        "no value for parameter X found"
    )


def test_a_task_that_no_step_can_find_is_named_with_two_spaces() -> None:
    error = FatalTaskError("UnknownTaskName", "missing task deploy.ph0.s1.x")
    assert PATH.fatal_message(error) == "ns/i fatal error:  missing task deploy.ph0.s1.x"


def test_a_failure_that_is_tried_again_says_so() -> None:
    error = TransientTaskError("DummyTaskError", "dummy error")
    assert PATH.transient_message(error) == (
        "A transient error when executing task deploy.ph0.s1.x. Will retry. dummy error"
    )
