"""Bounds of values: each bound and type, what is said of a value, and what no event loop does."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject, Parameter, bounds
from kudo.api.bounds import too_large
from kudo.api.value_bounds import ValueBounds
from kudo.parameters.definitions import definition_faults
from kudo.parameters.formats import FORMATS
from kudo.parameters.values import (
    Checker,
    CheckResults,
    check_value,
    missing_required,
    read_all,
    read_fully,
)

PORT: JsonObject = {"type": "integer", "minimum": 1, "maximum": 65535}
HOST: JsonObject = {
    "type": "map",
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "required": True, "format": "dns-name"},
        "ports": {"type": "array", "maxItems": 2, "items": PORT},
        "mode": {"type": "string", "enum": ["on", "off"]},
        "weight": {"type": "number"},
        "tls": {"type": "boolean"},
    },
}
PREFIX = 'parameter "X" has an invalid value '


def parameter(value_type: object = None, **fields: Any) -> Parameter:
    return Parameter.from_wire({"name": "X", "value-type": value_type, **fields})


def fault(value_type: str, value: str, **fields: Any) -> str:
    """Return what is said of a value behind the value; empty if it is allowed."""
    problem = check_value(parameter(value_type, **fields), value)
    if problem is None:
        return ""
    assert problem.reason == "ParameterInvalid"
    assert problem.field == "spec.parameters[X]"
    assert problem.message.startswith(PREFIX)
    assert len(problem.message) < 1000
    return problem.message.rpartition('": ')[2]


BELOW = "it is below the minimum {0}; set {0} or more"
ABOVE = "it is above the maximum {0}; set {0} or less"
TABLE: list[tuple[str, JsonObject, str, str]] = [
    ("integer", {"minimum": 3}, "3", ""),
    ("integer", {"minimum": 3}, "+03", ""),
    ("integer", {"minimum": 3}, "2", BELOW.format(3)),
    ("integer", {"minimum": 3}, "-9223372036854775808", BELOW.format(3)),
    ("integer", {"minimum": 2.5}, "3", ""),
    ("integer", {"minimum": 2.5}, "2", BELOW.format(2.5)),
    ("integer", {"minimum": -1}, "-1", ""),
    ("integer", {"maximum": 3}, "3", ""),
    ("integer", {"maximum": 3}, "4", ABOVE.format(3)),
    # Integers keep all their digits.
    ("integer", {"maximum": 2**63 - 2}, str(2**63 - 1), ABOVE.format(2**63 - 2)),
    ("integer", {"maximum": 2**63 - 2}, str(2**63 - 2), ""),
    ("integer", {"minimum": 1}, "0" * 5000 + "1", ""),
    ("integer", {"minimum": 1}, "0" * 5000, BELOW.format(1)),
    ("number", {"minimum": 0.1}, "0.1", ""),
    ("number", {"minimum": 0.1}, "0.09", BELOW.format(0.1)),
    ("number", {"maximum": 1e3}, "1e3", ""),
    ("number", {"maximum": 1000}, "1e3", ""),
    ("number", {"maximum": 1000}, "inf", ABOVE.format(1000)),
    ("number", {"minimum": 0}, "NaN", BELOW.format(0)),
    ("number", {"maximum": 0}, "NaN", ABOVE.format(0)),
    ("number", {}, "NaN", ""),
    ("", {"minLength": 2}, "é́", ""),
    ("", {"minLength": 2}, "é", "it has length 1, less than minLength 2; set a longer text"),
    ("string", {"minLength": 1}, "", "it has length 0, less than minLength 1; set a longer text"),
    ("string", {"maxLength": 2}, "ab", ""),
    (
        "string",
        {"maxLength": 2},
        "abc",
        "it has length 3, more than maxLength 2; set a shorter text",
    ),
    ("string", {"maxLength": 0}, "", ""),
    ("string", {"pattern": "b"}, "abc", ""),
    ("string", {"pattern": "^b"}, "abc", "it does not match the pattern ^b; set a text that does"),
    ("string", {"pattern": "(?i)^B"}, "b", ""),
    ("string", {"pattern": r"^\pL+$"}, "été", ""),
    (
        "string",
        {"pattern": "^a$"},
        "a\nb",
        "it does not match the pattern ^a$; set a text that does",
    ),
    # An empty value is none, as for types and enums.
    ("string", {"pattern": "a", "format": "semver", "minLength": 0}, "", ""),
    # As for an unknown type: what a later version knows.
    ("string", {"format": "postcode"}, "x", ""),
    # Bounds of another type hold for none of these values.
    ("boolean", {"minimum": 3, "pattern": "x", "minItems": 1}, "true", ""),
    ("integer", {"minLength": 3, "pattern": "x", "format": "cron"}, "1", ""),
    ("array", {"minimum": 3, "minLength": 9, "pattern": "x"}, "[]", ""),
    ("array", {"minItems": 1}, "[1]", ""),
    ("array", {"minItems": 1}, "[]", "it has length 0, less than minItems 1; add items"),
    ("array", {"maxItems": 1}, "[1, 2]", "it has length 2, more than maxItems 1; remove items"),
    # Null is no value.
    ("array", {"minItems": 1, "items": PORT}, "null", ""),
    ("map", HOST, "~", ""),
    ("array", {"items": PORT}, "[1, 2.0, 65535]", ""),
    ("array", {"items": PORT}, "[1, 0]", "[1] is below the minimum 1; set 1 or more"),
    (
        "array",
        {"items": PORT},
        "[1.5]",
        "[0] is a number, and its type is integer; set a value of that type",
    ),
    (
        "array",
        {"items": PORT},
        "[true]",
        "[0] is true, and its type is integer; set a value of that type",
    ),
    ("array", {"items": {"maximum": 1}}, "[a, null, true, [5], {b: 5}]", ""),
    (
        "array",
        {"items": {"type": "unheard-of", "maximum": 1}},
        "[2]",
        "[0] is above the maximum 1; set 1 or less",
    ),
    (
        "array",
        {"items": {"type": "string"}},
        "[a, 1]",
        "[1] is a number, and its type is string; put quotes around it",
    ),
    (
        "array",
        {"items": {"pattern": "^a"}},
        "[ab, b]",
        "[1] does not match the pattern ^a; set a text that does",
    ),
    ("map", HOST, "{name: a.b, ports: [1], mode: 'on', weight: 1, tls: false}", ""),
    ("map", HOST, "{}", "it has no key name, which is required; add it"),
    ("map", HOST, "{name: null}", "name is null, and its type is string; set a value of that type"),
    (
        "map",
        HOST,
        "{name: A}",
        f"name is not {FORMATS['dns-name'].what} (format dns-name)",
    ),
    ("map", HOST, "{name: a, ports: [0]}", "ports[0] is below the minimum 1; set 1 or more"),
    (
        "map",
        HOST,
        "{name: a, ports: [1, 2, 3]}",
        "ports has length 3, more than maxItems 2; remove items",
    ),
    (
        "map",
        HOST,
        "{name: a, mode: x}",
        "mode is none of the only allowed values [on off]; set one",
    ),
    (
        "map",
        HOST,
        "{name: a, mode: on}",
        "mode is true, and its type is string; put quotes around it",
    ),
    (
        "map",
        HOST,
        "{name: a, nmae: b}",
        "it has the key nmae, and its only keys are name, ports, mode, weight, tls; remove it",
    ),
    ("map", {"properties": {"a": PORT}}, "{b: 1}", ""),
    ("map", {"properties": {"a": PORT}}, "{a: 0, b: 1}", "a is below the minimum 1; set 1 or more"),
    (
        "map",
        {"properties": {"a": {"items": {"properties": {"b": PORT}}}}},
        "{a: [{b: 0}]}",
        "a[0].b is below the minimum 1; set 1 or more",
    ),
    (
        "map",
        {"additionalProperties": False},
        "{a: 1}",
        "it has the key a, and its only keys are none; remove it",
    ),
    ("map", {"properties": {"a": {"enum": ["1", "true", "0.5"]}}}, "{a: 1}", ""),
    ("map", {"properties": {"a": {"enum": ["1", "true", "0.5"]}}}, "{a: 0.5}", ""),
    (
        "map",
        {"properties": {"a": {"enum": ["1"]}}},
        "{a: [1]}",
        "a is none of the only allowed values [1]; set one",
    ),
]


def test_each_bound_of_each_type(subtests: pytest.Subtests) -> None:
    for value_type, fields, value, text in TABLE:
        with subtests.test(value_type=value_type, value=value[:40], **fields):
            assert fault(value_type, value, **fields) == text


GOOD = {
    "quantity": ("1", "0.5", "-1", "500m", "10Gi", "1e3", "1E", ".5k", "+1.", "100u"),
    "duration": ("1h30m", "0", "90s", "-1.5h", "1ns", "1µs"),
    "cron": (
        *("* * * * *", "*/5 0-4,8 1 jan-Mar sun", "0 3 ? * 1-5/2", "59 23 31 12 6"),
        *("0  3 * * *", "5/10 * * * mon,tue"),
    ),
    "dns-name": ("a", "db.example.com", "1-a.b", "a" * 253),
    "semver": ("1.2.3", "0.0.0", "1.0.0-rc.1", "1.0.0-0a.b+build.01", "1.0.0+a"),
}
BAD = {
    "quantity": ("1Gib", "1 Gi", "GI", "1e1000", "٣", "1" * 300, "0x1", "NaN", "1ki"),
    "duration": ("5", "1d", "1h ", "h", "P1D", "1" * 300 + "s"),
    "cron": (
        *("* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *"),
        *("* * * * 7", "*/0 * * * *", "5-1 * * * *", "a * * * *", "* * mon * *", "@daily"),
        *("1,,2 * * * *", "1- * * * *", ", * * * *", "* * * * mon-", "²  * * * *"),
        "1," * 200 + "1 * * * *",
    ),
    "dns-name": ("A", "-a", "a-", "a..b", "a_b", ".a", "a" * 254, "a\n"),
    "semver": ("v1.2.3", "1.2", "01.2.3", "1.0.0-01", "1.0.0-", "1.0.0+", "1.0.0 ", "1.0.0\n"),
}


def test_texts_of_a_format(subtests: pytest.Subtests) -> None:
    assert GOOD.keys() == BAD.keys() == FORMATS.keys()
    for name, declared in FORMATS.items():
        with subtests.test(format=name):
            assert fault("string", declared.sample, format=name) == ""
        for text in GOOD[name]:
            with subtests.test(format=name, text=text[:40]):
                assert fault("string", text, format=name) == ""
        for text in BAD[name]:
            with subtests.test(format=name, text=text[:40]):
                assert fault("", text, format=name) == f"it is not {declared.what} (format {name})"


@given(name=st.sampled_from([*FORMATS]), text=st.text(max_size=300))
def test_any_text_is_of_a_format_or_not(name: str, text: str) -> None:
    assert FORMATS[name].fault(text) in {"", f"is not {FORMATS[name].what}"}


def test_the_enum_comes_before_the_bounds_and_the_type_before_both() -> None:
    fields = {"enum": ["1", "2"], "minimum": 2}
    assert fault("integer", "0", **fields) == 'value is "0", but only allowed values are [1 2]'
    assert fault("integer", "1", **fields) == BELOW.format(2)
    assert "invalid syntax" in fault("integer", "x", **fields)


def test_an_empty_value_of_a_required_parameter_is_one_problem() -> None:
    needed = parameter(required=True, minLength=3)
    assert check_value(needed, "") is None
    assert len(missing_required([needed], {"X": ""})) == 1


def test_a_value_is_shown_as_where_its_type_is_wrong() -> None:
    for fields in ({"maxLength": 3}, {"pattern": "^b"}, {"format": "cron"}):
        problem = check_value(parameter(**fields), "a" * 1000)
        assert problem is not None
        assert problem.message.startswith(f'{PREFIX}"{"a" * 40}…": it ')
        assert "a" * 41 not in problem.message


def test_values_inside_of_others_are_not_shown() -> None:
    secret = "hunter2" * 20
    for fields in ({"maxLength": 3}, {"pattern": "^b"}, {"format": "cron"}, {"enum": ["a"]}):
        value = "- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n" * 3 + f"- {secret}"
        text = fault("array", value, items={"type": "string", **fields, "minLength": 0})
        assert text
        assert "hunter2" not in text


def test_a_text_of_any_length_is_checked_at_once_where_there_is_no_pattern() -> None:
    long, check = "1" * bounds.VALUE, Checker(CheckResults())
    for name in FORMATS:
        declared = parameter(format=name, maxLength=10)
        begin = time.process_time()
        assert check_value(declared, long, check) is not None
        assert time.process_time() - begin < 0.05
    assert check.pending == ()


HOSTILE = [
    "a{0,999}" * 32,
    r"(\pL{1,100}){1,10}",
    "((a{0,100}){0,10})" * 14,
    "(a|b|c|\\pL)*" * 19,
]
BROKEN = ["[", "(a", "a**", r"\C", "(?=a)", r"(a)\1", "a{1001}", "x" * (bounds.PATTERN + 1)]


def test_a_pattern_that_is_none_refuses_every_value_and_says_who_can_help() -> None:
    for pattern in (*HOSTILE, *BROKEN):
        begin = time.process_time()
        text = fault("string", "a" * 1000, pattern=pattern)
        assert time.process_time() - begin < 0.5
        assert text.startswith("it cannot be checked, since the pattern of the operator is invalid")
        assert text.endswith("; install a version that corrects it")


def test_patterns_take_time_in_proportion_to_the_text() -> None:
    text = "ab" * (bounds.MATCHED // 2)
    for pattern in ("(x+x+)+y", r"(\w+\s?)*$", "(a*)*b$", ".*.*.*=.*"):
        begin = time.process_time()
        fault("string", text, pattern=pattern)
        assert time.process_time() - begin < 1
    longer = fault("string", text + "a", pattern="a")
    assert longer.startswith(f"it has more than {bounds.MATCHED} characters")


def test_no_pattern_is_matched_on_an_event_loop() -> None:
    short, nested = parameter(pattern="^a"), parameter("array", items={"pattern": "^a"})
    results = CheckResults()
    check = Checker(results)
    for declared, value in ((short, "b"), (nested, "[b]")):
        assert check_value(declared, value, check) is None
    assert (check.reads, len(check.pending)) == (0, 2)
    check.learn(read_all(check.pending))
    for declared, value in ((short, "b"), (nested, "[b]")):
        assert check_value(declared, value, check) == check_value(declared, value)
        # The next decision needs no worker.
        assert check_value(declared, value, Checker(results)) == check_value(declared, value)
    again = Checker(results)
    assert check_value(parameter(pattern="^b"), "b", again) is None
    assert len(again.pending) == 1


def test_a_pattern_that_takes_too_long_blames_its_value() -> None:
    check = Checker(CheckResults())
    for name in ("a", "b"):
        check_value(parameter(pattern="^x"), name, check)
    check.give_up("cpu", "it took too long", 1)
    assert check_value(parameter(pattern="^x"), "a", check) is None
    problem = check_value(parameter(pattern="^x"), "b", check)
    assert problem is not None
    assert (problem.reason, problem.limit) == ("ParameterTooLarge", "cpu")


def test_the_same_value_with_other_bounds_is_another_one() -> None:
    results = CheckResults()
    big = "[" + "0," * 3000 + "]"
    for most, allowed in ((5000, True), (10, False)):
        check, declared = Checker(results), parameter("array", maxItems=most)
        check_value(declared, big, check)
        check.learn(read_all(check.pending))
        assert (check_value(declared, big, check) is None) is allowed


def test_what_an_alias_repeats_counts_against_the_budget() -> None:
    """Three levels of aliases stand for a billion items."""
    of_three = {"items": {"items": {"items": {"type": "integer"}}}}
    aliases = "[&b [&a [" + "1," * 1000 + "]" + ", *a" * 1000 + "]" + ", *b" * 1000 + "]"
    check, declared = Checker(CheckResults()), parameter("array", **of_three)
    begin = time.process_time()
    assert check_value(declared, aliases, check) is None
    assert time.process_time() - begin < 0.1
    assert len(check.pending) == 1
    problem = check_value(declared, aliases)
    assert problem is not None
    assert problem.reason == "ParameterTooLarge"


def test_many_properties_of_many_maps_cost_as_much_as_the_value() -> None:
    properties = {f"p{n}": {"type": "integer"} for n in range(bounds.PROPERTIES)}
    declared = parameter("array", items={"properties": properties})
    check, value = Checker(CheckResults()), "[" + "{}," * 1900 + "]"
    begin = time.process_time()
    assert check_value(declared, value, check) is None
    assert time.process_time() - begin < 0.1
    assert check.pending == ()


def test_bounds_and_their_text_are_the_same() -> None:
    declared = parameter("map", **HOST).bounds
    assert declared is not None
    assert ValueBounds.from_text(declared.text) == declared
    described = {"properties": {"a": {"description": "for people", "minimum": 1}}}
    plain = {"properties": {"a": {"minimum": 1}}}
    of_described, of_plain = parameter("map", **described).bounds, parameter("map", **plain).bounds
    assert of_described == of_plain
    assert parameter("map", enum=["a"]).bounds is None


def test_a_full_reader_of_a_worker_says_the_same(subtests: pytest.Subtests) -> None:
    for value_type, fields, value, _ in TABLE:
        with subtests.test(value_type=value_type, value=value[:40], **fields):
            declared = parameter(value_type, **fields).bounds
            text = declared.text if declared else ""
            assert read_all([(value_type, value, text)]) == [
                read_fully(value_type, value, declared)
            ]


FAULTS: list[tuple[str, JsonObject, list[str]]] = [
    ("integer", {"minimum": 1, "maximum": 1}, []),
    ("integer", {"minimum": 2, "maximum": 1}, ["no value is within minimum 2 and maximum 1"]),
    (
        "integer",
        {"minimum": 1.1, "maximum": 1.9},
        ["no integer is within minimum 1.1 and maximum 1.9"],
    ),
    ("number", {"minimum": 1.1, "maximum": 1.9}, []),
    ("", {"minLength": 2, "maxLength": 1}, ["no value is within minLength 2 and maxLength 1"]),
    ("array", {"minItems": 2, "maxItems": 1}, ["no value is within minItems 2 and maxItems 1"]),
    ("", {"minimum": 0}, ["minimum is for values of type integer or number, and not string"]),
    ("boolean", {"pattern": "a"}, ["pattern is for values of type string, and not boolean"]),
    ("map", {"items": {}}, ["items is for values of type array, and not map"]),
    ("array", {"properties": {"a": {}}}, ["properties is for values of type map, and not array"]),
    ("unheard-of", {"minimum": 1, "pattern": "a"}, []),
    (
        "string",
        {"pattern": "[a"},
        ["pattern cannot be used: error parsing regexp: missing closing ]: `[a`"],
    ),
    (
        "string",
        {"format": "email"},
        ["format email is unknown; formats are quantity, duration, cron, dns-name, semver"],
    ),
    (
        "map",
        {"additionalProperties": False},
        ["additionalProperties is false, and there are no properties: no key is allowed"],
    ),
    (
        "array",
        {"items": {"type": "text"}},
        ["type text is unknown; types are string, integer, number, boolean, array, map"],
    ),
    ("array", {"items": {"enum": []}}, ["enum has no values: none is allowed"]),
    ("array", {"items": {"type": "map", "enum": ["a"]}}, ["enum is not for values of type map"]),
    ("array", {"items": {"minimum": 1, "pattern": "a"}}, []),
    (
        "map",
        {"properties": {"a": {"type": "integer", "enum": ["1", "x"], "maximum": 0}}},
        [
            "1 is not allowed by the other bounds: it is above the maximum 0; set 0 or less",
            "x is not of type integer: invalid syntax",
        ],
    ),
    (
        "map",
        {"properties": {"a": {"type": "array", "items": {"type": "string", "maximum": 1}}}},
        ["maximum is for values of type integer or number, and not string"],
    ),
]


def test_bounds_that_no_value_can_be_within(subtests: pytest.Subtests) -> None:
    for value_type, fields, texts in FAULTS:
        with subtests.test(value_type=value_type, **fields):
            declared = parameter(value_type, **fields).bounds
            assert declared is not None
            assert [text for _, text in definition_faults(value_type, declared)] == texts


def test_patterns_that_cost_too_much_are_told_where_they_stand() -> None:
    for pattern in (*HOSTILE, *BROKEN):
        declared = parameter("map", properties={"a": {"items": {"pattern": pattern}}}).bounds
        assert declared is not None
        [(path, text)] = definition_faults("map", declared)
        assert path == ("properties", "a", "items", "pattern")
        assert text.startswith("pattern cannot be used: ")


def test_the_samples_of_patterns_that_are_fine() -> None:
    for pattern in ("^[a-z]([-a-z0-9]*[a-z0-9])?$", r"^\d{1,3}(\.\d{1,3}){3}$", "x" * 256):
        declared = parameter("string", pattern=pattern).bounds
        assert declared is not None
        assert [*definition_faults("string", declared)] == []


def test_the_items_and_properties_of_a_version_are_counted() -> None:
    def spec(properties: int, enum: int = 0) -> JsonObject:
        value: JsonObject = {"items": {"items": {"enum": ["a"] * enum, "items": {"items": {}}}}}
        return {
            "parameters": [{"name": "X", "properties": {str(n): value for n in range(properties)}}]
        }

    # Each stands for three: what is deeper than that is not stored.
    assert too_large(spec(bounds.VALUES_IN_ALL // 3)) == ""
    assert "items and properties" in too_large(spec(bounds.VALUES_IN_ALL // 3 + 1))
    assert "items and properties" in too_large(spec(20, 100))
    wrong: list[Any] = ["x", 5, None, {"a": 5}, {"items": 3, "properties": [4]}]
    for value in wrong:
        assert too_large({"parameters": [{"items": value, "properties": {"a": value}}]}) == ""
        assert too_large({"parameters": [{"items": value, "properties": value}]}) == ""
