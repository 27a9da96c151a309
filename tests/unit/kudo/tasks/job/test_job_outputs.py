"""Reading the outputs of a Job task: the message, the texts in it, and everything else."""

import json

import pytest

from kudo.api import JsonObject, OperatorVersion
from kudo.api.task_kinds import FatalTaskError, check_task
from kudo.tasks.job.outputs import kept_bytes, outputs_of, termination_message

HINT = 'write one object such as {"name": "text"}'


def outputs(message: str, *declared: str, kept: int = 4096) -> dict[str, str]:
    return outputs_of(message, declared or ("a",), kept, "job j")


@pytest.mark.parametrize(
    ("message", "declared", "texts"),
    [
        ('{"a": "1"}', ["a"], {"a": "1"}),
        (' {"b": "", "a": "é\\n"}\n', ["a", "b"], {"a": "é\n", "b": ""}),
        ('{"a-b.c_D": "{{ .x }}"}', ["a-b.c_D"], {"a-b.c_D": "{{ .x }}"}),
        (json.dumps({"a": "x" * 4087}), ["a"], {"a": "x" * 4087}),
    ],
)
def test_texts_with_the_declared_names_are_read(
    message: str, declared: list[str], texts: dict[str, str]
) -> None:
    assert outputs(message, *declared) == texts


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "its program has written no termination message; it writes its outputs to"),
        (" \n", "its program has written no termination message"),
        (f"a={SECRET}", f"the termination message is not JSON; {HINT}"),
        (f'{{"a": "{SECRET}"}} {{}}', f"the termination message is not JSON; {HINT}"),
        (f'{{"a": "{SECRET}"', "the termination message is not JSON"),
        ('{"a": NaN}', "the termination message is not JSON"),
        ('{"a": "\\ud800"}', "the termination message is not JSON"),
        ("[" * 4000, "the termination message is not JSON"),
        (f'["{SECRET}"]', "the termination message is a list and not a JSON object"),
        (f'"{SECRET}"', "the termination message is text and not a JSON object"),
        ("null", "the termination message is null and not a JSON object"),
        ("{}", "it lacks a"),
        (f'{{"a": "{SECRET}", "b": "{SECRET}"}}', "it has b, which outputs of the task does not"),
        (f'{{"a": "", "{SECRET} x": ""}}', "it has a name, which outputs of the task does not"),
        ('{"A": "1"}', "it has A, which outputs of the task does not have; it lacks a"),
        ('{"a": 31337}', "a is a number and not text; put quotes around it"),
        ('{"a": true}', "a is true or false and not text; put quotes around it"),
        ('{"a": null}', "a is null and not text"),
        (f'{{"a": {{"b": "{SECRET}"}}}}', "a is a mapping and not text"),
        (json.dumps({"a": "x" * 4088}), "it has 4097 bytes, more than 4096; write less"),
        (json.dumps({"a": "é" * 2044}, ensure_ascii=False), "it has 4097 bytes, more than 4096"),
    ],
)
def test_anything_else_is_fatal_and_no_text_of_it_is_told(message: str, fault: str) -> None:
    with pytest.raises(FatalTaskError) as caught:
        outputs(message)
    assert caught.value.reason == "OutputsInvalid"
    assert str(caught.value).startswith(f"job j: its outputs cannot be used: {fault}")
    assert SECRET not in str(caught.value)
    assert "31337" not in str(caught.value)


@pytest.mark.parametrize(("kept", "is_cut"), [(4096, False), (3072, True), (3000, True)])
def test_a_message_that_a_kubelet_cuts_tells_it(kept: int, is_cut: bool) -> None:
    with pytest.raises(FatalTaskError) as caught:
        outputs("x" * 3072, kept=kept)
    assert ("It has 3072 bytes, and the kubelet cuts it there" in str(caught.value)) is is_cut


def pod(*names: str, inits: int = 0, statuses: dict[str, JsonObject] | None = None) -> JsonObject:
    ended = statuses or {name: {"terminated": {"message": f"of {name}"}} for name in names}
    return {
        "spec": {
            "containers": [{"name": name} for name in names],
            "initContainers": [{"name": f"i{number}"} for number in range(inits)],
        },
        "status": {
            # A kubelet sorts them by name.
            "containerStatuses": [
                {"name": name, "state": state} for name, state in sorted(ended.items())
            ]
        },
    }


def test_the_program_runs_in_main_or_else_in_the_first_container() -> None:
    assert termination_message(pod("b", "main", "a")) == "of main"
    assert termination_message(pod("b", "a")) == "of b"
    assert termination_message(pod("main", statuses={"main": {"terminated": {}}})) == ""
    assert termination_message(pod("main", statuses={"main": {"running": {}}})) is None
    assert termination_message(pod("main", statuses={"a": {"terminated": {}}})) is None
    assert termination_message({"spec": {"containers": [{"name": "main"}]}}) is None
    assert termination_message({}) is None


def test_the_containers_of_a_pod_share_what_is_kept() -> None:
    assert [kept_bytes(pod("a", inits=number)) for number in range(5)] == [
        4096,
        4096,
        4096,
        3072,
        2457,
    ]
    assert kept_bytes({}) == 4096


# Declaring them


def version(*names: object) -> OperatorVersion:
    job = {"command": ["x"], "image": "i", "outputs": [*names]}
    return OperatorVersion.from_wire(
        {
            "spec": {
                "tasks": [
                    {"name": "t", "kind": "Job", "spec": {"job": job}},
                    {"name": "t", "kind": "Job", "spec": {"job": {**job, "outputs": ["other"]}}},
                    {"name": "plain", "kind": "Job", "spec": {"job": {"image": "i"}}},
                    {"name": "no-job", "kind": "Apply", "spec": {"job": job}},
                ]
            }
        }
    )


def test_a_version_knows_the_outputs_of_its_tasks() -> None:
    assert version("a", "b").outputs == {"t": ("a", "b")}
    assert version().outputs == {}


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (["a", "b", "a"], "job.outputs[2]: there is another one of the same"),
        (["a b"], "job.outputs[0]: is no name: use at most 63 letters"),
        ([""], "job.outputs[0]: is no name"),
        (["{{ .Name }}"], "job.outputs[0]: is no name"),
        (["a" * 64], "job.outputs[0]: is no name"),
        (["a" * 63, "a-b_c.D"], ""),
    ],
)
def test_names_of_outputs_can_be_used(names: list[str], fault: str) -> None:
    (task, *_) = version(*names).spec.tasks or ()
    if not fault:
        check_task(task)
        return
    with pytest.raises(FatalTaskError) as caught:
        check_task(task)
    assert str(caught.value).startswith(f"task validation error: job task 't': {fault}")
