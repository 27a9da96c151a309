"""Tasks: what no engine can run, and the words for failures."""

import pytest

from kudo.api import OperatorVersion, Task
from kudo.api.problems import KudoError
from kudo.api.task_kinds import FatalTaskError, TaskError, TaskPath, TransientTaskError, check_task
from kudo.api.task_kinds.kinds import dummy_done, toggled_on

PATH = TaskPath("ns/i", "deploy", "ph0", "s1", "t")


def task(kind: str, **spec: object) -> Task:
    return Task.from_wire({"name": "t", "kind": kind, "spec": spec})


def test_a_path_reads_plan_phase_step_task() -> None:
    assert str(PATH) == "deploy.ph0.s1.t"


def test_a_fatal_error_is_worded_as_the_original_words_it() -> None:
    error = FatalTaskError("DummyTaskError", "dummy error")
    assert PATH.fatal_message(error) == (
        "Error during execution: fatal error: ns/i failed in deploy.ph0.s1.t: dummy error"
    )


def test_an_unknown_task_is_worded_as_the_original_words_it() -> None:
    error = FatalTaskError("UnknownTaskName", f"missing task {PATH}")
    assert PATH.fatal_message(error) == "ns/i fatal error:  missing task deploy.ph0.s1.t"


def test_a_transient_error_is_worded_as_the_original_words_it() -> None:
    error = TransientTaskError("DummyTaskError", "dummy error")
    assert PATH.transient_message(error) == (
        "A transient error when executing task deploy.ph0.s1.t. Will retry. dummy error"
    )


def test_kinds_are_taken_by_the_letter(subtests: pytest.Subtests) -> None:
    for kind in ["apply", "APPLY", "", "Exec", "Apply "]:
        with subtests.test(kind=kind):
            with pytest.raises(FatalTaskError) as caught:
                check_task(task(kind, resources=["a.yaml"]))
            assert caught.value.reason == "TaskBuildError"
            assert str(caught.value) == f"unknown task kind {kind}"


EMPTY = "has an empty resource list. if that's what you need, use a Dummy task instead"
FILE = {"file": "/a", "kind": "Secret", "key": "K_1-a"}


def refusal(kind: str, **spec: object) -> str:
    with pytest.raises(FatalTaskError) as caught:
        check_task(task(kind, **spec))
    assert caught.value.reason == "TaskBuildError"
    return str(caught.value)


@pytest.mark.parametrize("resources", [[], None])
def test_a_task_that_writes_objects_needs_resources(resources: list[str] | None) -> None:
    prefix = "task validation error: "
    assert refusal("Apply", resources=resources) == f"{prefix}apply task 't' {EMPTY}"
    assert refusal("Delete", resources=resources) == f"{prefix}delete task 't' {EMPTY}"
    assert refusal("Toggle", resources=resources, parameter="A") == f"{prefix}toggle task {EMPTY}"


def test_what_a_kind_of_task_lacks_is_named() -> None:
    table: list[tuple[str, dict[str, object], str]] = [
        ("Toggle", {"resources": ["a"]}, "Missing parameter to evaluate the Toggle Task"),
        ("Pipe", {"pod": "p"}, "pipe task has an empty pipe files list"),
        ("Pipe", {"pipe": []}, "pipe task has an empty pipe files list"),
        (
            "Pipe",
            {"pipe": [{**FILE, "envFile": "/b"}]},
            "must have either 'file' or 'envFile' field set but not both",
        ),
        (
            "Pipe",
            {"pipe": [{"kind": "Secret", "key": "k"}]},
            "must have either 'file' or 'envFile' field set but not both",
        ),
        (
            "Pipe",
            {"pipe": [{**FILE, "kind": "secret"}]},
            "invalid pipe kind (must be Secret or ConfigMap): {/a secret K_1-a}",
        ),
        (
            "Pipe",
            {"pipe": [FILE, {**FILE, "key": "a.b"}]},
            "invalid pipe key (only letters, numbers and _ and - are allowed): {/a Secret a.b}",
        ),
        ("Pipe", {"pipe": [{**FILE, "key": "a\n"}]}, "invalid pipe key"),
        ("Pipe", {"pipe": [{**FILE, "key": None}]}, "invalid pipe key"),
        (
            "KudoOperator",
            {"operatorVersion": "1"},
            "kudo operator task 't' has an empty package name",
        ),
        (
            "KudoOperator",
            {"package": "p"},
            "kudo operator task 't' has an empty operatorVersion",
        ),
    ]
    for kind, spec, text in table:
        assert text in refusal(kind, **spec)


def test_a_task_with_all_that_its_kind_needs_is_accepted(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, dict[str, object]]] = [
        ("Apply", {"resources": ["a"]}),
        ("Delete", {"resources": ["a"]}),
        ("Toggle", {"resources": ["a"], "parameter": "A"}),
        ("Pipe", {"pod": "p", "pipe": [FILE]}),
        ("Pipe", {"pod": "p", "pipe": [{"envFile": "/a", "kind": "ConfigMap", "key": "k"}]}),
        ("KudoOperator", {"package": "p", "operatorVersion": "1"}),
        ("Dummy", {}),
    ]
    for kind, spec in table:
        with subtests.test(kind=kind, spec=spec):
            check_task(task(kind, **spec))


# Toggle and Dummy


def test_a_true_parameter_toggles_on() -> None:
    for value in ["1", "t", "T", "TRUE", "true", "True"]:
        assert toggled_on(task("Toggle", parameter="A"), {"A": value})


def test_a_false_parameter_toggles_off() -> None:
    for value in ["0", "f", "F", "FALSE", "false", "False"]:
        assert not toggled_on(task("Toggle", parameter="A"), {"A": value})


def test_a_parameter_that_is_no_boolean_cannot_toggle(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, object], str]] = [
        ({}, "no value for parameter A found"),
        ({"A": ["x"]}, "value of parameter A isn't a string"),
        ({"A": None}, "value of parameter A isn't a string"),
        ({"A": ""}, "could not parse value of parameter A: "),
        ({"A": "yes"}, 'parsing "yes": invalid syntax'),
        ({"A": "tRUE"}, 'parsing "tRUE": invalid syntax'),
        ({"A": " true"}, 'parsing " true": invalid syntax'),
    ]
    for values, text in table:
        with subtests.test(values=values, text=text):
            with pytest.raises(FatalTaskError) as caught:
                toggled_on(task("Toggle", parameter="A"), values)
            assert caught.value.reason == "ToggleTaskError"
            assert text in str(caught.value)


def test_a_long_value_that_is_no_boolean_is_shortened() -> None:
    with pytest.raises(FatalTaskError) as caught:
        toggled_on(task("Toggle", parameter="A"), {"A": "x" * 100_000})
    assert len(str(caught.value)) < 400


def test_a_dummy_is_done_when_it_says_so() -> None:
    for done, expected in [(True, True), (False, False), (None, False)]:
        assert dummy_done(task("Dummy", done=done)) is expected


def test_a_dummy_fails_as_it_was_told(subtests: pytest.Subtests) -> None:
    table: list[tuple[bool | None, type[TaskError]]] = [
        (True, FatalTaskError),
        (False, TransientTaskError),
        (None, TransientTaskError),
    ]
    for fatal, kind in table:
        with subtests.test(fatal=fatal, kind=kind):
            with pytest.raises(kind, match=r"^dummy error$") as caught:
                dummy_done(task("Dummy", wantErr=True, fatal=fatal, done=True))
            assert caught.value.reason == "DummyTaskError"


def test_fatal_and_transient_are_different_things_of_one_family() -> None:
    assert not issubclass(FatalTaskError, TransientTaskError)
    assert not issubclass(TransientTaskError, FatalTaskError)
    for kind in (FatalTaskError, TransientTaskError):
        assert issubclass(kind, TaskError)
        assert issubclass(kind, KudoError)


def test_unknown_fields_of_a_version_are_told_with_their_paths() -> None:
    step = {"name": "s", "tasks": ["a"], "tomorrow": "x"}
    phases = [{"name": "p", "later": True, "steps": [step]}]
    tasks = [{"name": "a", "kind": "Job", "spec": {"job": {"image": "i", "x": 1}, "y": {}}}]
    spec = {"plans": {"deploy": {"phases": phases}}, "tasks": tasks}
    version = OperatorVersion.from_wire({"metadata": {"name": "v"}, "spec": spec})
    assert set(version.unknown_fields) == {
        "plans.deploy.phases[0].later",
        "plans.deploy.phases[0].steps[0].tomorrow",
        "tasks[0].spec.job.x",
        "tasks[0].spec.y",
    }
    # What they say is not taken over.
    known = OperatorVersion.from_wire(version.to_wire())
    assert known.unknown_fields == ()
    assert known.spec == version.spec
