"""The job `render`, as a worker runs it: what goes in, what comes out, and every limit by name."""

from dataclasses import replace
from typing import Any

import pytest

from kudo.api import bounds
from kudo.api.task_kinds import FatalTaskError
from kudo.jobs import HANDLERS, render
from kudo.jobs.render import Request
from kudo.parameters.template import RawParameter
from kudo.tasks.rendering import OUTPUTS_UNKNOWN, Variables

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
POD = "apiVersion: v1\nkind: Pod\nspec: {}\n"


def request(
    output: render.Output, *texts: str, **parameters: tuple[str | None, str | None]
) -> Request:
    templates = {f"t{number}.yaml": text for number, text in enumerate(texts)}
    raw = tuple(RawParameter(name, kind, text) for name, (kind, text) in parameters.items())
    fixed = {"Name": "i", "Pipes": {"key": "artifact"}}
    return Request(output, tuple(templates), templates, Variables(fixed, raw))


def answer(asked: Request) -> list[Any]:
    """Send a request through the handler as bytes."""
    found = HANDLERS[render.NAME](asked.encode())
    return [item for _, item in render.decode_answer(found)]


def failure(asked: Request) -> FatalTaskError:
    with pytest.raises(FatalTaskError) as caught:
        answer(asked)
    return caught.value


def test_a_request_survives_its_encoding() -> None:
    asked = request("objects", "a", "b", P=("array", "[1]"), Q=(None, None))
    assert Request.decode(asked.encode()) == asked


def test_objects_come_in_order_with_their_templates() -> None:
    texts = (CONFIG_MAP % "a" + "---\n" + CONFIG_MAP % "{{ .Name }}", CONFIG_MAP % "c")
    found = [render.manifest(item) for item in answer(request("objects", *texts))]
    assert [(one.template, one.object["metadata"]["name"]) for one in found] == [
        ("t0.yaml", "a"),
        ("t0.yaml", "i"),
        ("t1.yaml", "c"),
    ]


def test_line_breaks_of_texts_do_not_end_an_object() -> None:
    text = CONFIG_MAP % "a" + 'data: {x: "a\\nb\\u2028c\\u0085"}\n'
    (found,) = answer(request("objects", text))
    assert found["object"]["data"] == {"x": "a\nb\u2028c\x85"}


def test_outputs_of_tasks_are_texts() -> None:
    text = CONFIG_MAP % '{{ index .Outputs "a-b" "x" }}' + 'data: {z: "{{ .Outputs.c.y }}"}\n'
    asked = request("objects", text)
    fixed = {**asked.variables.fixed, "Outputs": {"a-b": {"x": "name"}, "c": {"y": "1"}}}
    asked = replace(asked, variables=replace(asked.variables, fixed=fixed))
    (found,) = answer(asked)
    assert found["object"]["metadata"]["name"] == "name"
    assert found["object"]["data"] == {"z": "1"}
    assert asked.size == len(text) + len("name1")


def test_where_outputs_are_not_known_nothing_is_rendered_that_uses_some() -> None:
    uses = CONFIG_MAP % '{{ if hasKey .Outputs "a" }}b{{ else }}c{{ end }}'
    asked = request("objects", CONFIG_MAP % "a", uses)
    asked = replace(asked, variables=replace(asked.variables, outputs_known=False))
    assert Request.decode(asked.encode()) == asked
    error = failure(asked)
    assert (error.reason, error.limit) == (OUTPUTS_UNKNOWN, "")
    assert str(error) == "template t1.yaml uses outputs of tasks, and only a run has them"
    (found,) = answer(replace(asked, resources=("t0.yaml",)))
    assert found["template"] == "t0.yaml"


def test_no_templates_give_no_objects() -> None:
    assert answer(request("objects")) == []


def test_parameters_are_read_by_their_types() -> None:
    text = "{{ len .Params.L }} {{ .Params.M.a }} {{ .Params.S }} {{ .Pipes.key }}"
    parameters = {"L": ("array", "[1, 2]"), "M": ("map", "{a: b}"), "S": ("integer", "08")}
    (found,) = answer(request("parameters", f"A: {text}", **parameters))
    assert found == {"A": "2 b 08 artifact"}


def test_values_of_a_parameter_file_are_stored_as_the_command_line_stores_them() -> None:
    file = "SIZE: 10000000\nLIVE: yes\nRATE: 1.50\nNAME: x\nLIST: [1, a]\nMAP: {b: 1, a: 2}\n"
    assert answer(request("parameters", file)) == [
        {
            "SIZE": "10000000",
            "LIVE": "true",
            "RATE": "1.5",
            "NAME": "x",
            "LIST": "- 1\n- a\n",
            "MAP": "a: 2\nb: 1\n",
        }
    ]
    assert answer(request("parameters", "\n")) == [{}]


def test_a_file_without_parameters_is_refused(subtests: pytest.Subtests) -> None:
    table = [
        (
            "A:\n",
            "errors while unmarshaling following keys of the parameter file t0.yaml: A has a ",
        ),
        ("- a\n", "error unmarshalling content of parameter file t0.yaml: "),
        ("a: [", "error unmarshalling content of parameter file t0.yaml: "),
    ]
    for file, text in table:
        with subtests.test(file=file, text=text):
            error = failure(request("parameters", file))
            assert (error.reason, error.limit) == ("TaskRenderingError", "")
            assert str(error).startswith(text)


def test_a_pod_is_read() -> None:
    assert answer(request("pod", POD)) == [{"apiVersion": "v1", "kind": "Pod", "spec": {}}]


JOB = Request(
    "job",
    ("scripts/a.sh",),
    {"scripts/a.sh": "echo {{ .Name }}\n"},
    Variables({"Name": "i"}, ()),
    task="backup",
    job={"script": "scripts/a.sh", "image": "{{ .Name }}:1", "keep": 2},
)


def test_a_job_task_is_one_answer() -> None:
    assert Request.decode(JOB.encode()) == JOB
    assert (JOB.number, JOB.size) == (2, 17 + len("scripts/a.sh{{ .Name }}:1"))
    job = {"script": "scripts/a.sh", "image": "i:1", "keep": 2}
    assert answer(JOB) == [{"job": job, "script": "echo i\n", "pod": None}]


def test_a_field_of_a_job_task_that_exceeds_a_limit_is_named() -> None:
    loop = "{{ range 100000000 }}{{ end }}"
    error = failure(replace(JOB, job={"image": "i", "command": ["x", loop]}))
    assert (error.reason, error.limit) == ("TaskRenderingError", "steps")
    assert "task backup: job.command[1]: " in str(error)


def test_what_is_no_pod_is_refused(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        (CONFIG_MAP % "a", "it must be of v1, Kind=Pod"),
        (POD + "metadata: {generation: 99999999999999999999}\n", "does not fit into 64 bits"),
    ]
    for pod, text in table:
        with subtests.test(pod=pod, text=text):
            error = failure(request("pod", pod))
            assert error.reason == "ResourceUnmarshalError"
            assert text in str(error)


def test_a_missing_template_is_named() -> None:
    asked = Request("objects", ("gone.yaml",), {}, Variables({}, ()))
    assert str(failure(asked)) == "error finding resource named gone.yaml"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("{{ range 100000000 }}{{ end }}", "steps"),
        ("{{ range 20 }}{{ repeat 1000000 `x` }}{{ end }}", "output"),
        ("{{ repeat 9000000 `x` }}", "string"),
        ("{{ until 200000 }}", "items"),
        ("{{ regexFind `(a|b|c|d)*[^x]{900}` (repeat 80000 `b`) }}", "steps"),
        ("{{ range 30 }}{{ $x := genPrivateKey `ecdsa` }}{{ end }}", "expensive"),
        ("a: &a {{ repeat 60000 `x` }}\nb: [{{ repeat 30 `*a,` }}]", "aliased"),
        ("{{ repeat 200 `[` }}", "depth"),
        ("{{ repeat 60000 `null\n---\n` }}", "nodes"),
    ],
)
def test_a_limit_is_named_with_the_template_and_what_to_do(text: str, limit: str) -> None:
    error = failure(request("objects", CONFIG_MAP % "a", text))
    assert (error.reason, error.limit) == ("TaskRenderingError", limit)
    assert "t1.yaml" in str(error)
    assert "; split the template, or have it " in str(error)


def test_all_documents_of_a_task_share_one_budget() -> None:
    text = CONFIG_MAP % "a" + "data: [" + "0," * 90_000 + "]"
    error = failure(request("objects", *[text] * 5))
    assert error.limit == "nodes"
    assert "parsing YAML from t4.yaml: decoding chunk 1 failed" in str(error)


def test_one_document_may_not_have_all_values() -> None:
    error = failure(request("objects", CONFIG_MAP % "a" + "data: [" + "0," * 160_000 + "]"))
    assert error.limit == "nodes"
    assert "the document has more than 150000 values; make it smaller" in str(error)


def test_half_a_million_separators_are_no_documents() -> None:
    assert answer(request("objects", "{{ range 5 }}{{ repeat 100000 `\n---` }}{{ end }}")) == []


@pytest.mark.parametrize(
    ("kind", "text", "limit"),
    [
        ("map", "{a: &a " + "x" * 60_000 + ", b: [" + "*a," * 30 + "]}", "aliased"),
        ("array", "[" * 200, "depth"),
    ],
)
def test_a_parameter_that_exceeds_a_limit_is_named(kind: str, text: str, limit: str) -> None:
    error = failure(request("objects", CONFIG_MAP % "a", SIZE=("integer", "1"), BIG=(kind, text)))
    assert (error.reason, error.limit) == ("InvalidParams", limit)
    assert f'parameter "BIG" of type {kind} cannot be read' in str(error)
    assert str(error).endswith("give it a smaller value")


def test_all_parameters_share_one_budget() -> None:
    big = ("array", "[" + "0," * 100_000 + "]")
    error = failure(request("objects", CONFIG_MAP % "a", A=big, B=big, C=big, D=big))
    assert (error.reason, error.limit) == ("InvalidParams", "nodes")
    assert 'parameter "D" of type array cannot be read' in str(error)


def test_more_objects_than_a_task_may_have_never_leave_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = 20
    monkeypatch.setattr(bounds, "TASK_OBJECTS", most)
    many = "{{ range $i := until %d }}\n---\n" + CONFIG_MAP.replace("%s", "x{{ $i }}") + "{{ end }}"
    whole = request("objects", many % (most - 1), CONFIG_MAP % "last")
    assert len(answer(whole)) == most
    error = failure(
        request("objects", many % (most - 1), CONFIG_MAP % "a" + "---\n" + CONFIG_MAP % "b")
    )
    assert (error.reason, error.limit) == ("TooManyObjects", "objects")
    assert str(error) == (
        "template t1.yaml: the task has more than 20 objects; have several tasks apply them"
    )
    # Objects of a List count, too.
    items = ", ".join(["{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"] * (most + 1))
    listed = f"{{apiVersion: v1, kind: List, items: [{items}]}}"
    assert failure(request("objects", listed)).reason == "TooManyObjects"
