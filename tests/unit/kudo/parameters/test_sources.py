"""Values from the command line and from parameter files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api.problems import InvalidInput
from kudo.parameters.sources import parse_assignments, parse_parameter_file, with_plain_booleans

_NULL = (
    "has a null value (https://yaml.org/spec/1.2/spec.html#id2803362) "
    "which is currently not supported"
)


def test_assignments_are_split_at_the_first_equals_sign() -> None:
    table: list[tuple[list[str], dict[str, str]]] = [
        ([], {}),
        (["a=b=c"], {"a": "b=c"}),
        (["a=1", "a="], {"a": ""}),
        (["a=1", "b=x y", "a=2"], {"a": "2", "b": "x y"}),
        (
            ["PORTS=[80, 443]", "L={a: b}", "B=yes"],
            {"PORTS": "[80, 443]", "L": "{a: b}", "B": "yes"},
        ),
    ]
    for assignments, values in table:
        assert parse_assignments(assignments) == values


def test_all_bad_assignments_are_named_in_one_message() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_assignments(["x", "a=1", "=1"])
    assert str(caught.value) == ("parameter not set: x, parameter name can not be empty: =1")


def test_parameter_files_give_the_text_of_each_value() -> None:
    table: dict[str, dict[str, str]] = {
        "": {},
        "# nothing": {},
        "A: 10000000\nB: true\nC: 1.10\n": {"A": "10000000", "B": "true", "C": "1.1"},
        "M: {b: 1, a: [z]}": {"M": "a:\n- z\nb: 1\n"},
        "L: [a, {c: d}]": {"L": "- a\n- c: d\n"},
        "E: []\nF: {}": {"E": "[]\n", "F": "{}\n"},
        "D: 2020-01-01\nO: 0755\nY: yes": {"D": "2020-01-01", "O": "493", "true": "true"},
        "S: ''": {"S": ""},
        "A: 1\nA: 2": {"A": "2"},
        "A: 1\n---\nB: 2": {"A": "1"},
    }
    assert {text: parse_parameter_file("f.yaml", text) for text in table} == table


def test_fractions_in_files_of_users_keep_their_spelling() -> None:
    table = [
        ("0.10", "0.10"),
        ("1e3", "1e3"),
        ("-1.5E-7", "-1.5E-7"),
        (".50", ".50"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("[0.10, 1e3]", "- 0.10\n- 1e3\n"),
        ("{a: 2.0}", "a: 2.0\n"),
        ("!!float 1", "1"),
        ("1_000.5", "1000.5"),
        ("0755", "493"),
    ]
    for text, value in table:
        # BTO-12: KUDO 0.19 wrote large numbers with an exponent, and no number as it was given.
        assert parse_parameter_file("f.yaml", f"A: {text}", spelling=True) == {"A": value}


def test_fractions_in_files_of_children_are_as_before() -> None:
    text = "A: 0.10\nB: 1e3\nC: [2.0]"
    assert parse_parameter_file("f.yaml", text) == {"A": "0.1", "B": "1000", "C": "- 2\n"}


def test_booleans_are_stored_alike_however_they_are_spelled() -> None:
    given = {"A": "yes", "B": "True", "C": "off", "D": "1", "E": "maybe", "F": "", "TEXT": "yes"}
    assert with_plain_booleans({"A", "B", "C", "D", "E", "F"}, given) == {
        "A": "true",
        "B": "true",
        "C": "false",
        "D": "1",
        "E": "maybe",
        "F": "",
        "TEXT": "yes",
    }


def test_null_values_in_parameter_files_are_all_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_parameter_file("f.yaml", "A: ~\nB: 1\nC:\n")
    assert str(caught.value) == (
        "errors while unmarshaling following keys of the parameter file f.yaml: "
        f"A {_NULL}, C {_NULL}"
    )


def test_files_that_are_no_yaml_mapping_are_refused(subtests: pytest.Subtests) -> None:
    table = [
        ("a: b: c", "line 1, column 5: mapping values are not allowed in this context"),
        ("- a", "a mapping of names to values is needed"),
        ("word", "a mapping of names to values is needed"),
    ]
    for text, why in table:
        with subtests.test(text=text, why=why):
            with pytest.raises(InvalidInput) as caught:
                parse_parameter_file("f.yaml", text)
            assert (
                str(caught.value) == f"error unmarshalling content of parameter file f.yaml: {why}"
            )
            assert {problem.reason for problem in caught.value.problems} == {"ParameterInvalid"}


def test_values_that_would_be_huge_as_block_yaml_are_refused() -> None:
    text = f"A: {'[' * 95}{'1,' * 50_000}{']' * 95}"
    with pytest.raises(InvalidInput, match="A: the YAML text is longer than"):
        parse_parameter_file("f.yaml", text)


@given(st.text(max_size=60) | st.text("ab:-[]{} \n&*1", max_size=40))
def test_any_file_gives_strings_or_the_one_error(text: str) -> None:
    try:
        values = parse_parameter_file("f", text)
    except InvalidInput:
        return
    assert all(isinstance(value, str) for value in values.values())


def test_a_second_document_is_an_error_where_users_give_values() -> None:
    text = "A: 1\n---\nB: 2\n"
    assert parse_parameter_file("f.yaml", text) == {"A": "1"}
    with pytest.raises(InvalidInput, match=r"f\.yaml: line 2, column 1: a second document"):
        parse_parameter_file("f.yaml", text, single=True)
