"""What the walk through a template finds that it uses, whatever stands for dot and variables."""

import time

import pytest

from gotemplate import Environment, parse_tree
from kudo.tasks.usage import Usage, kinds_named, usage_of, uses_outputs, uses_run_parameters
from kudo.verification import verify
from tests.unit.kudo.verification.test_verification import OBJECT, Json, found, package

FUNCTIONS = Environment(policy="operator").function_names | {"dict", "hasKey"}


def usage(text: str) -> Usage:
    return usage_of(parse_tree("a.yaml", text, FUNCTIONS))


def test_a_parameter_is_found_where_it_is_used(subtests: pytest.Subtests) -> None:
    table = [
        "{{ .Params.A }}",
        "{{ $.Params.A.b.c }}",
        "{{ .Params.A | upper }}",
        '{{ printf "%s %s" .Name .Params.A }}',
        '{{ index .Params "A" }}',
        '{{ index $ "Params" "A" "b" }}',
        '{{ "A" | index .Params }}',
        '{{ (index .Params "A").b }}',
        "{{ (.Params).A }}",
        "{{ (index .Params.A 0).name }}",
        "{{ with .Params }}{{ .A }}{{ end }}",
        "{{ with $p := .Params }}{{ $p.A }}{{ end }}",
        "{{ with . }}{{ .Params.A }}{{ end }}",
        "{{ with .Name }}{{ $.Params.A }}{{ end }}",
        "{{ with .Params.X }}{{ else }}{{ .Params.A }}{{ end }}",
        "{{ $p := .Params }}{{ $p.A }}",
        '{{ $p := . }}{{ $q := $p.Params }}{{ index $q "A" }}',
        '{{ $k := "A" }}{{ index .Params $k }}',
        "{{ $x := $ }}{{ if true }}{{ $x.Params.A }}{{ end }}",
        "{{ if $p := .Params }}{{ $p.A }}{{ end }}",
        "{{ if false }}{{ else if .Params.A }}{{ end }}",
        "{{ range .Params.A }}{{ .name }}{{ end }}",
        "{{ range $i, $v := .Params.X }}{{ $.Params.A }}{{ $v.name }}{{ end }}",
        "{{ range .Params.X }}{{ .a }}{{ else }}{{ .Params.A }}{{ end }}",
        '{{ define "d" }}{{ .Params.A }}{{ end }}{{ template "d" . }}',
        '{{ define "d" }}{{ .A }}{{ end }}{{ template "d" .Params }}',
        '{{ define "d" }}{{ $.A }}{{ template "d" $ }}{{ end }}{{ template "d" .Params }}',
        '{{ block "d" .Params }}{{ .A }}{{ end }}',
        "{{ .Params.X.y | default .Params.A }}",
        "{{ eq (.Params.A | int) (add 1 .Params.X) }}",
    ]
    for text in table:
        with subtests.test(text=text):
            seen = usage(text)
            assert "A" in seen.parameters
            assert seen.parameters.keys() <= {"A", "X"}
            assert seen.unknown == {}
            assert not seen.everything


def test_what_only_looks_like_a_parameter_is_none(subtests: pytest.Subtests) -> None:
    table = [
        "{{ range .Params.X }}{{ .Params.A }}{{ .nope }}{{ end }}",
        "{{ with .Params.X }}{{ .Params.A }}{{ .nope }}{{ end }}",
        '{{ define "d" }}{{ .Params.A }}{{ end }}{{ template "d" }}',
        '{{ define "never" }}{{ .Params.A }}{{ .Nope }}{{ end }}{{ .Params.X }}',
        "{{ $v := .Params.X }}{{ $v.Params.A }}",
        "{{ .Pipes.A }}{{ .Params.X }}",
        '{{ index .Params.X "A" }}',
    ]
    for text in table:
        with subtests.test(text=text):
            seen = usage(text)
            assert list(seen.parameters) == ["X"] if ".Params.X" in text else seen.parameters == {}
            assert seen.unknown == {}


def test_all_parameters_count_as_used_where_they_go_out_of_sight(subtests: pytest.Subtests) -> None:
    table = [
        "{{ toYaml .Params }}",
        "{{ .Params }}",
        "{{ . }}",
        "{{ $ | toYaml }}",
        "{{ range $k, $v := .Params }}{{ $k }}{{ end }}",
        "{{ index .Params .Name }}",
        '{{ template "d" (dict "root" .) }}{{ define "d" }}{{ .root.Params.A }}{{ end }}',
        "{{ $p := .Name }}{{ if .Name }}{{ $p = .Params }}{{ end }}{{ $p.A }}",
        "{{ $p := .Params }}{{ if .Name }}{{ $p = .Name }}{{ end }}{{ $p.A }}",
    ]
    for text in table:
        with subtests.test(text=text):
            seen = usage(text)
            assert seen.everything
            assert seen.unknown == {}


def test_no_parameter_is_called_unused_where_one_template_takes_all_of_them() -> None:
    text = f"{OBJECT}# {{{{ toYaml .Params | len }}}}"
    parameters = [{"name": "A", "default": "1"}]
    assert verify(package(templates={"a.yaml": text}, parameters=parameters)) == ()


def test_an_unknown_variable_is_found(subtests: pytest.Subtests) -> None:
    table = [
        "{{ .Nope }}",
        "{{ $.Nope.a }}",
        '{{ printf "%s" .Nope }}',
        "{{ with . }}{{ .Nope }}{{ end }}",
        '{{ index . "Nope" }}',
        '{{ define "d" }}{{ .Nope }}{{ end }}{{ template "d" . }}',
        "{{ range .Params.X }}{{ else }}{{ .Nope }}{{ end }}",
    ]
    for text in table:
        with subtests.test(text=text):
            unknown = usage(text).unknown
            assert {name: line for name, (line, _) in unknown.items()} == {"Nope": 1}
            messages = found(
                package(templates={"a.yaml": OBJECT + text}, parameters=[{"name": "X"}])
            )
            assert messages[0] == 'template a.yaml defines an invalid implicit parameter "Nope"'


def test_the_variables_of_the_original_are_known() -> None:
    table = [
        "OperatorName",
        "Name",
        "Namespace",
        "AppVersion",
        "OperatorVersion",
        "PlanName",
        "PhaseName",
        "StepName",
        "Params",
        "Pipes",
    ]
    for name in table:
        assert usage(f"{{{{ .{name} }}}}").unknown == {}


def test_asking_for_a_parameter_uses_it_and_needs_none() -> None:
    seen = usage('{{ if hasKey .Params "A" }}{{ end }}')
    assert (seen.asked, seen.parameters, seen.everything) == ({"A"}, {}, False)


def test_the_first_position_of_a_use_is_told() -> None:
    seen = usage("{{ .Params.A }}\n\nä {{ .Params.B }}\n{{ .Params.B }}{{ .Nope }}")
    assert seen.parameters == {"A": (1, 11), "B": (3, 13)}
    assert seen.unknown == {"Nope": (4, 19)}


def test_false_alarms_of_the_original_are_not_raised(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, list[str]]] = [
        # The vectors that the original gets wrong.
        ('{{ printf "%s" .Name .Params.W }}', []),
        ('{{ index .Params "W" }}', []),
        ("{{ toYaml .Params }}", []),
        ("{{ range .Params.L }}{{ .field }}{{ end }}{{ .Params.W }}", []),
        ("{{ with .Params.M }}{{ .field }}{{ end }}{{ .Params.W }}", []),
        ('{{ index .Params "NOPE" }}', ['parameter "NOPE" in template a.yaml is not defined']),
    ]
    for text, messages in table:
        with subtests.test(text=text, messages=messages):
            # BTO-46: only the first variable of a pipeline was looked at.
            parameters: list[Json] = [
                {"name": "W", "default": "1"},
                {"name": "L", "type": "array", "default": [], "trigger": "deploy"},
                {"name": "M", "type": "map", "default": {}, "trigger": "deploy"},
            ]
            block = "".join(f"#  {line}\n" for line in text.splitlines())
            of = package(
                templates={"a.yaml": f"{OBJECT}{{{{/* */}}}}{block}"}, parameters=parameters
            )
            assert found(of) == messages


# Outputs of tasks


def test_an_output_is_found_where_it_is_used(subtests: pytest.Subtests) -> None:
    table = [
        "{{ .Outputs.a.b }}",
        "{{ $.Outputs.a.b | quote }}",
        '{{ index .Outputs "a" "b" }}',
        '{{ (index .Outputs "a").b }}',
        '{{ index $ "Outputs" "a" "b" }}',
        '{{ index .Outputs.a "b" }}',
        "{{ with .Outputs }}{{ .a.b }}{{ end }}",
        "{{ with .Outputs.a }}{{ .b }}{{ end }}",
        "{{ if .Outputs.a.b }}{{ end }}",
        "{{ $o := .Outputs.a }}{{ $o.b }}",
        '{{ $k := "a" }}{{ (index .Outputs $k).b }}',
        "{{ range .Params.X }}{{ $.Outputs.a.b }}{{ end }}",
        '{{ define "d" }}{{ .Outputs.a.b }}{{ end }}{{ template "d" . }}',
        '{{ define "d" }}{{ .b }}{{ end }}{{ template "d" .Outputs.a }}',
        '{{ define "d" }}{{ .a.b }}{{ end }}{{ template "d" .Outputs }}',
    ]
    for text in table:
        with subtests.test(text=text):
            seen = usage(text)
            assert seen.outputs.keys() == {("a", ""), ("a", "b")}
            assert not seen.every_output
            assert seen.unknown == {}
            assert uses_outputs(parse_tree("a.yaml", text, FUNCTIONS))


def test_outputs_of_a_task_may_be_used_as_a_whole() -> None:
    for text in ("{{ toYaml .Outputs.a }}", "{{ range $k, $v := .Outputs.a }}{{ $v }}{{ end }}"):
        seen = usage(text)
        assert ({*seen.outputs}, seen.every_output) == ({("a", "")}, False)


def test_it_may_be_asked_whether_a_task_has_outputs() -> None:
    seen = usage('{{ if hasKey .Outputs "a" }}{{ end }}')
    assert (seen.tasks_asked, seen.outputs, seen.every_output) == ({"a"}, {}, False)


def test_every_output_counts_as_used_where_the_map_goes_out_of_sight(
    subtests: pytest.Subtests,
) -> None:
    table = [
        "{{ toYaml .Outputs }}",
        "{{ .Outputs }}",
        "{{ toYaml . }}",
        "{{ range $k, $v := . }}{{ end }}",
        "{{ index .Outputs .Params.X }}",
        "{{ index . .Params.X }}",
        '{{ index . (printf "Out%s" "puts") }}',
        '{{ hasKey . "Outputs" }}',
        '{{ template "d" (dict "root" $) }}{{ define "d" }}{{ .root.Outputs.a.b }}{{ end }}',
        "{{ $o := .Name }}{{ if .Name }}{{ $o = .Outputs }}{{ end }}{{ $o.a }}",
        '{{ define "d" }}{{ toYaml . }}{{ end }}{{ template "d" . }}',
    ]
    for text in table:
        with subtests.test(text=text):
            assert usage(text).every_output
            assert uses_outputs(parse_tree("a.yaml", text, FUNCTIONS))


def test_what_only_looks_like_an_output_is_none(subtests: pytest.Subtests) -> None:
    table = [
        "{{ .Params.Outputs }}",
        "{{ toYaml .Params }}",
        "{{ range .Params.X }}{{ .Outputs.a.b }}{{ . }}{{ end }}",
        '{{ define "d" }}{{ .Outputs.a.b }}{{ end }}{{ template "d" .Params }}',
        '{{ define "never" }}{{ .Outputs.a.b }}{{ end }}',
        '{{ template "d" . }}{{ define "d" }}{{ .Name }}{{ template "d" . }}{{ end }}',
        "# .Outputs.a.b",
        "{{/* .Outputs.a.b */}}",
        '{{ "Outputs" }}',
    ]
    for text in table:
        with subtests.test(text=text):
            seen = usage(text)
            assert (seen.outputs, seen.every_output, seen.tasks_asked) == ({}, False, set())
            assert not uses_outputs(parse_tree("a.yaml", text, FUNCTIONS))


def test_whether_outputs_are_used_is_known_after_one_walk_of_each_template() -> None:
    calls = "".join(f'{{{{ template "d" .Params.p{number} }}}}' for number in range(2000))
    body = "{{ .x }}" * 2000
    tree = parse_tree("a.yaml", f'{{{{ define "d" }}}}{body}{{{{ end }}}}{calls}', FUNCTIONS)
    before = time.process_time()
    assert not uses_outputs(tree)
    # Walked once for each call, it takes 4,000,000 steps, which is some seconds.
    assert time.process_time() - before < 0.5


# Kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("apiVersion: v1\nkind: ConfigMap\n", {"ConfigMap"}),
        ("kind: ConfigMap # a comment\n---\nkind: 'Secret'\r\n", {"ConfigMap", "Secret"}),
        ('{"kind": "ConfigMap", "items": [{"kind":"Secret"}]}', {"ConfigMap", "Secret"}),
        ("kind: ConfigMapList\nitems: []", {"ConfigMap", "ConfigMapList"}),
        ("{{ if .Name }}\nkind: A\n{{- else }}\nkind: B\n{{ end }}", {"A", "B"}),
        ("{{/* any kind */}}\n# of this kind\nkind: A\nname: {{ .Params.x.kind }}", {"A"}),
        ('kind: A\n{{ template "d" . }}\n{{ define "d" }}\nkind: B\n{{ end }}', {"A", "B"}),
        ("kind: A\nlabels:\n  {{ toYaml .Params.L }}", {"A"}),
        ("{{ $x := .Name }}\n{{- $x = 1 }}\nkind: A", {"A"}),
        # Any kind.
        ("kind: {{ .Params.KIND }}", None),
        ("kind: A\n---\nkind: {{ if .Name }}B{{ else }}C{{ end }}", None),
        ("kind: A{{ .Name }}", None),
        ("kind:\n  A\n", None),
        ("kind: A\n---\n{{ .Outputs.a.manifest }}", None),
        ("kind: A\n---\n{{- toYaml .Params.OBJECT | nindent 0 }}", None),
        ('{{ toYaml (dict "kind" "Secret") }}', None),
        ("kind: A\n---\nx: {{ toJson (dict `kind` .Name) }}", None),
        ("", None),
        ("app-kindness: x", None),
    ],
)
def test_the_kinds_of_a_template_are_those_in_its_text(text: str, kinds: set[str] | None) -> None:
    assert kinds_named(text) == kinds


# Parameters of a run


def test_a_parameter_of_a_run_is_found_where_it_is_used(subtests: pytest.Subtests) -> None:
    table = [
        "{{ .RunParams.a }}",
        "{{ $.RunParams.a | quote }}",
        '{{ index .RunParams "a" }}',
        '{{ index $ "RunParams" "a" }}',
        "{{ with .RunParams }}{{ .a }}{{ end }}",
        "{{ $p := .RunParams }}{{ $p.a }}",
        '{{ define "d" }}{{ .RunParams.a }}{{ end }}{{ template "d" . }}',
    ]
    for text in table:
        with subtests.test(text=text):
            seen = usage(text)
            assert ({*seen.run_parameters}, seen.every_run_parameter) == ({"a"}, False)
            assert (seen.parameters, seen.unknown) == ({}, {})
            assert uses_run_parameters(parse_tree("a.yaml", text, FUNCTIONS))
    asked = usage('{{ hasKey .RunParams "a" }}')
    assert (asked.run_parameters_asked, asked.run_parameters) == ({"a"}, {})


def test_all_parameters_of_a_run_may_be_used_at_once(subtests: pytest.Subtests) -> None:
    for text in ("{{ toYaml .RunParams }}", "{{ range .RunParams }}{{ end }}", "{{ toYaml . }}"):
        with subtests.test(text=text):
            assert usage(text).every_run_parameter
            assert uses_run_parameters(parse_tree("a.yaml", text, FUNCTIONS))
    for text in ("{{ .Params.RunParams }}", "{{ .Outputs.a.b }}", '{{ "RunParams" }}'):
        with subtests.test(text=text):
            assert not uses_run_parameters(parse_tree("a.yaml", text, FUNCTIONS))
