"""Values of parameters: types, enums, what is required, and what templates see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Parameter
from kudo.api.problems import InvalidInput, Problem
from kudo.parameters.sources import to_text
from kudo.parameters.template import RawParameter, expression_values, template_values
from kudo.parameters.values import check_value, missing_required


def _parameter(value_type: object = None, **fields: object) -> Parameter:
    return Parameter.from_wire({"name": "X", "value-type": value_type, **fields})


def test_values_of_the_right_type_are_accepted() -> None:
    table: list[tuple[str | None, str]] = [
        *((None, value) for value in ("", "a", " 5", "[a", "null")),
        *(("string", value) for value in ("a", "1", "{a: b}", "[a")),
        *(("nonsense", value) for value in ("a", "[a", "NaN")),
        *(("integer", value) for value in ("", "1", "+5", "-5", "01", "-9223372036854775808")),
        *(("integer", value) for value in ("9223372036854775807", "0" * 5000 + "1")),
        *(("number", value) for value in ("", "1e3", "inf", "Infinity", "NaN", "1_000", "-.5")),
        *(("number", value) for value in ("0x1p-2", "9223372036854775808", "+5")),
        *(("boolean", value) for value in ("1", "t", "T", "TRUE", "true", "True")),
        *(("boolean", value) for value in ("", "0", "f", "F", "FALSE", "false", "False")),
        *(("array", value) for value in ("", "[1, 2]", "- a\n- b", "[]", "null", "~", " ", "#")),
        *(("map", value) for value in ("", "{a: b}", "a: b", "{}", "null", "~", "\n")),
    ]
    for value_type, value in table:
        assert check_value(_parameter(value_type), value) is None


def test_an_integer_with_many_zeros_is_a_number_of_expressions() -> None:
    raw = [RawParameter("X", "integer", sign + "0" * 5000 + "7") for sign in ("", "+", "-")]
    assert [expression_values([each])["X"] for each in raw] == [7, 7, -7]


def test_values_of_another_type_are_refused(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        *(("integer", value) for value in (" 5", "5 ", "1_000", "0x10", "1e3", "1.5", "a", "+")),
        *(("integer", value) for value in ("9223372036854775808", "-9223372036854775809")),
        *(("integer", value) for value in ("9" * 5000, "٣", "1\n", "[1, 2]")),
        *(("number", value) for value in (" 1", "1 ", "0x10", "a", "true", "1e999", "1__0")),
        *(("boolean", value) for value in ("yes", "on", "tRUE", "a", "null", "+5")),
        *(("array", value) for value in ("a", "1", "a: b", "[a", "{}", "\ta", "a\x00")),
        *(("map", value) for value in ("a", "1", "[a]", "- a", "{a", "[]")),
    ]
    for value_type, value in table:
        with subtests.test(value_type=value_type, value=value):
            problem = check_value(_parameter(value_type), value)
            assert problem is not None
            assert problem.reason == "ParameterInvalid"
            assert problem.field == "spec.parameters[X]"
            assert f'type is "{value_type}"' in problem.message
            assert len(problem.message) < 1000


@pytest.mark.parametrize(
    ("value", "limit", "detail"),
    [
        ("[" * 10_000, "depth", "nested deeper than 100 levels"),
        ("[" + "0," * 400_001 + "]", "nodes", "more than 400000 values"),
        ("[&a " + "x" * 1000 + ", *a" * 2000 + "]", "aliased", "excessive aliasing"),
        (" " * 8 * 1024 * 1024 + "[]", "size", "longer than 8388608 characters"),
    ],
)
def test_a_value_beyond_a_limit_is_too_large_and_says_which(
    value: str, limit: str, detail: str
) -> None:
    problem = check_value(_parameter("array"), value)
    assert problem is not None
    assert (problem.reason, problem.limit) == ("ParameterTooLarge", limit)
    assert problem.message.startswith('parameter "X" of type "array" has a value that is too large')
    assert detail in problem.message
    assert problem.message.endswith("give it a smaller value")


def test_no_more_than_40_characters_of_a_value_are_shown(subtests: pytest.Subtests) -> None:
    for value_type in ["integer", "array", "map", "boolean", "number"]:
        with subtests.test(value_type=value_type):
            value = "x" * 1_000_000
            problem = check_value(_parameter(value_type), value)
            assert problem is not None
            assert "x" * 40 in problem.message
            assert "x" * 41 not in problem.message


def test_of_a_long_enum_the_first_20_values_are_shown() -> None:
    enum = [str(number) * 50 for number in range(10, 1010)]
    problem = check_value(_parameter(enum=enum), "a")
    assert problem is not None
    assert problem.message.endswith(f"{enum[19][:40]}… and 980 more]")


def test_many_zeros_before_a_fault_are_read_once() -> None:
    # A pattern with two repeats in a row would try 2 * 10^12 ways here.
    assert check_value(_parameter("integer"), "0" * 2_000_000 + "x") is not None


def test_a_number_of_a_megabyte_is_not_read() -> None:
    problem = check_value(_parameter("number"), "1" * 1_000_000)
    assert problem is not None
    assert problem.message.endswith("it has more than 4096 characters")


def test_an_invalid_value_is_named_with_what_is_wrong_with_it() -> None:
    problem = check_value(_parameter("integer"), "1e3")
    assert problem == Problem(
        "ParameterInvalid",
        'parameter "X" has an invalid value "1e3": '
        'type is "integer" but format of "1e3" is invalid: invalid syntax',
        "spec.parameters[X]",
    )


def test_the_place_in_an_invalid_array_is_named() -> None:
    problem = check_value(_parameter("array"), "a: [\n")
    assert problem is not None
    assert 'type is "array", but format of a: [' in problem.message
    assert "line 2, column 1" in problem.message


def test_an_enum_accepts_its_values_and_the_empty_one_only() -> None:
    parameter = _parameter("integer", enum=["1", "2"])
    assert check_value(parameter, "2") is None
    assert check_value(parameter, "") is None
    problem = check_value(parameter, "3")
    assert problem is not None
    assert problem.message == (
        'parameter "X" has an invalid value "3": value is "3", but only allowed values are [1 2]'
    )
    assert check_value(parameter, "02") is not None


def test_the_type_is_judged_before_the_enum() -> None:
    problem = check_value(_parameter("integer", enum=["1"]), "a")
    assert problem is not None
    assert "type is" in problem.message


def test_an_empty_enum_allows_nothing() -> None:
    assert check_value(_parameter(enum=[]), "a") is not None


@pytest.mark.parametrize(
    ("fields", "values", "missing"),
    [
        ({"required": True}, {}, True),
        ({"required": True}, {"X": ""}, True),
        ({"required": True}, {"X": "x"}, False),
        ({"required": True, "default": ""}, {}, False),
        ({"required": True, "default": "d"}, {"X": ""}, False),
        ({"required": False}, {}, False),
        ({}, {}, False),
    ],
)
def test_required_parameters_need_a_value_or_a_default(
    fields: dict[str, object], values: dict[str, str], *, missing: bool
) -> None:
    problem = Problem(
        "ParameterRequired",
        'parameter "X" is required but has no value set',
        "spec.parameters[X]",
    )
    assert missing_required([_parameter(**fields)], values) == ((problem,) if missing else ())


def test_templates_see_strings_except_for_arrays_and_maps(subtests: pytest.Subtests) -> None:
    table: list[tuple[str | None, str | None, object]] = [
        (None, "false", "false"),
        (None, None, ""),
        ("integer", "5", "5"),
        ("nonsense", "x", "x"),
        ("boolean", "", ""),
        ("map", "{a: 10000000}", {"a": 10000000}),
        ("map", "a", "a"),
        ("map", "[1]", [1]),
        ("map", "", None),
        ("map", "null", None),
        ("map", None, None),
        ("array", "[x, y]", ["x", True]),
        ("array", "- {a: 1.5}", [{"a": 1.5}]),
        ("array", "", []),
        ("array", "null\n", []),
        ("array", None, []),
    ]
    for value_type, text, seen in table:
        with subtests.test(value_type=value_type, text=text, seen=seen):
            assert template_values([_parameter(value_type, default=text)], {}) == {"X": seen}
            if text is not None:
                assert template_values([_parameter(value_type)], {"X": text}) == {"X": seen}


def test_a_value_that_is_set_hides_the_default_even_when_it_is_empty() -> None:
    assert template_values([_parameter(default="d")], {"X": ""}) == {"X": ""}


def test_undeclared_values_do_not_reach_templates() -> None:
    assert template_values([], {"Y": "1"}) == {}


def test_every_array_and_map_that_cannot_be_read_is_named() -> None:
    parameters = [
        Parameter(name=name, value_type=kind)
        for name, kind in (("A", "array"), ("B", "map"), ("C", "array"), ("D", "map"))
    ]
    values = {"A": "a: b", "B": "{", "C": "[1]", "D": "&a {x: *a}"}
    with pytest.raises(InvalidInput) as caught:
        template_values(parameters, values)
    assert {problem.reason for problem in caught.value.problems} == {"InvalidParams"}
    fields = [problem.field for problem in caught.value.problems]
    assert fields == ["spec.parameters[A]", "spec.parameters[B]", "spec.parameters[D]"]
    message = 'parameter "A" of type array cannot be read: line 1, column 1: a list is needed here'
    assert caught.value.problems[0].message == message


def test_values_of_scalar_types_become_what_go_prints(subtests: pytest.Subtests) -> None:
    table: list[tuple[object, str]] = [
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        (511, "511"),
        ("2020-01-01", "2020-01-01"),
        (10000000, "10000000"),
        (1e7, "1e+07"),
        (0.00001, "1e-05"),
        ([1], "[1]"),
        (["a", None, [True]], "[a <nil> [true]]"),
        ({"b": 1, "a": {"c": "d"}}, "map[a:map[c:d] b:1]"),
        ("", ""),
    ]
    for value, text in table:
        with subtests.test(value=value, text=text):
            assert to_text(value, None) == text
            assert to_text(value, "string") == text


def test_values_of_arrays_and_maps_become_yaml(subtests: pytest.Subtests) -> None:
    table: list[tuple[object, str]] = [
        (
            {"port": 8080, "big": 10000000, "s": "yes", "n": None, "l": [1, "2", True]},
            'big: 10000000\nl:\n- 1\n- "2"\n- true\n"n": null\nport: 8080\ns: "yes"\n',
        ),
        (["a", {"c": "d"}], "- a\n- c: d\n"),
        ([], "[]\n"),
        ([1e7, 1.5, 1e300], "- 10000000\n- 1.5\n- 1e+300\n"),
        (None, "null\n"),
        ("[1, 2]", "[1, 2]"),
    ]
    for value, text in table:
        with subtests.test(value=value, text=text):
            assert to_text(value, "map") == text
            assert to_text(value, "array") == text


@given(st.integers())
def test_integers_are_judged_by_64_bits(value: int) -> None:
    fits = -(2**63) <= value < 2**63
    assert (check_value(_parameter("integer"), str(value)) is None) == fits


@given(st.sampled_from(["array", "map", "integer", "number", "boolean"]), st.text(max_size=30))
def test_an_array_or_map_that_is_accepted_reaches_templates(value_type: str, value: str) -> None:
    parameter = _parameter(value_type)
    if check_value(parameter, value) is None:
        assert template_values([parameter], {"X": value}).keys() == {"X"}
