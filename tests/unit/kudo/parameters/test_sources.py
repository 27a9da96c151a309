"""Values from the command line and from parameter files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.parameters import parse_assignments, parse_parameter_file
from kudo.problems import InvalidInput

_NULL = (
    "has a null value (https://yaml.org/spec/1.2/spec.html#id2803362) "
    "which is currently not supported"
)


@pytest.mark.parametrize(
    ("assignments", "values"),
    [
        ([], {}),
        (["a=b=c"], {"a": "b=c"}),
        (["a=1", "b=x y", "a=2"], {"a": "2", "b": "x y"}),
        (
            ["PORTS=[80, 443]", "L={a: b}", "B=yes"],
            {"PORTS": "[80, 443]", "L": "{a: b}", "B": "yes"},
        ),
    ],
)
def test_assignments_are_split_at_the_first_equals_sign(
    assignments: list[str], values: dict[str, str]
) -> None:
    assert parse_assignments(assignments) == values


def test_all_bad_assignments_are_named_in_one_message() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_assignments(["x", "a=1", "=1", "y="])
    assert str(caught.value) == (
        "parameter not set: x, parameter name can not be empty: =1, "
        "parameter value can not be empty: y="
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("# nothing", {}),
        ("A: 10000000\nB: true\nC: 1.10\n", {"A": "10000000", "B": "true", "C": "1.1"}),
        ("M: {b: 1, a: [z]}", {"M": "a:\n- z\nb: 1\n"}),
        ("L: [a, {c: d}]", {"L": "- a\n- c: d\n"}),
        ("E: []\nF: {}", {"E": "[]\n", "F": "{}\n"}),
        ("D: 2020-01-01\nO: 0755\nY: yes", {"D": "2020-01-01", "O": "493", "true": "true"}),
        ("S: ''", {"S": ""}),
        ("A: 1\nA: 2", {"A": "2"}),
        ("A: 1\n---\nB: 2", {"A": "1"}),
    ],
)
def test_parameter_files_give_the_text_of_each_value(text: str, values: dict[str, str]) -> None:
    assert parse_parameter_file("f.yaml", text) == values


def test_null_values_in_parameter_files_are_all_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_parameter_file("f.yaml", "A: ~\nB: 1\nC:\n")
    assert str(caught.value) == (
        "errors while unmarshaling following keys of the parameter file f.yaml: "
        f"A {_NULL}, C {_NULL}"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: b: c", "line 1, column 5: mapping values are not allowed in this context"),
        ("- a", "a mapping of names to values is needed"),
        ("word", "a mapping of names to values is needed"),
    ],
)
def test_files_that_are_no_yaml_mapping_are_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_parameter_file("f.yaml", text)
    assert str(caught.value) == f"error unmarshalling content of parameter file f.yaml: {why}"
    assert {problem.reason for problem in caught.value.problems} == {"ParameterInvalid"}


def test_values_that_would_be_huge_as_block_yaml_are_refused() -> None:
    text = f"A: {'[' * 95}{'1,' * 100_000}{']' * 95}"
    with pytest.raises(InvalidInput, match="A: the YAML text is longer than"):
        parse_parameter_file("f.yaml", text)


@given(st.text(max_size=60) | st.text("ab:-[]{} \n&*1", max_size=40))
def test_any_file_gives_strings_or_the_one_error(text: str) -> None:
    try:
        values = parse_parameter_file("f", text)
    except InvalidInput:
        return
    assert all(isinstance(value, str) for value in values.values())
