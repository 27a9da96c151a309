"""What the walk through a template finds that it uses, whatever stands for dot and variables."""

import pytest

from gotemplate import Environment, parse_tree
from kudo.verification import verify
from kudo.verification.usage import Usage, usage_of
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
