"""What `package verify` finds in `params.yaml`."""

from typing import Any

import pytest

from kudo.verification import verify
from tests.unit.kudo.verification.test_verification import found, package, places, used


def test_parameter_names_are_unique_whatever_their_case() -> None:
    of = package(**used(*({"name": n, "default": "1"} for n in ("Size", "SIZE", "size", "x"))))
    assert found(of) == ['parameter "SIZE" has a duplicate', 'parameter "size" has a duplicate']


def test_parameter_names_have_no_separators() -> None:
    of = package(**used({"name": "a;b,c", "default": "1"}))
    assert found(of) == [
        "parameter \"a;b,c\" contains invalid character ';'",
        "parameter \"a;b,c\" contains invalid character ','",
    ]


def test_an_immutable_parameter_gets_a_value_at_once() -> None:
    message = 'parameter "P" is immutable but is not marked as required or has a default value'
    optional = {"name": "P", "immutable": True, "required": False}
    assert found(package(**used(optional))) == [message]
    assert found(package(**used({**optional, "default": ""}))) == []
    assert found(package(**used({**optional, "required": True}))) == []


def test_an_immutable_secret_may_stay_without_a_value() -> None:
    optional = {"name": "P", "immutable": True, "required": False, "secret": True}
    message = 'parameter "P" is immutable but is not marked as required or has a default value'
    assert message not in found(package(**used(optional)))


TYPE_FAULTS = [
    ("string", True, 'type is "string" but format is invalid: true'),
    ("string", 1.5, 'type is "string" but format is invalid: 1.5'),
    ("string", ["a"], 'type is "string" but format is invalid: [a]'),
    ("integer", 1.5, 'type is "integer" but format of 1.5 is invalid'),
    ("integer", True, 'type is "integer" but format of true is invalid'),
    ("integer", "0x10", 'type is "integer" but format of "0x10" is invalid: invalid syntax'),
    ("integer", "", 'type is "integer" but format of "" is invalid: invalid syntax'),
    ("integer", 2**63, 'type is "integer" but format of 9223372036854775808 is invalid'),
    ("number", False, 'type is "number" but format of false is invalid'),
    ("boolean", 1, 'type is "boolean" but format of 1 is invalid'),
    ("boolean", "yes", 'type is "boolean" but format of "yes" is invalid: invalid syntax'),
    ("array", "a: b", 'type is "array", but format of a: b is invalid'),
    ("array", {"a": 1}, 'type is "array" but value map[a:1] is not an array'),
    ("map", "[a]", 'type is "map", but format of [a] is invalid'),
    ("map", [1], 'type is "map" but value [1] is not a map'),
]


def test_defaults_and_enums_are_of_the_type(subtests: pytest.Subtests) -> None:
    for value_type, value, why in TYPE_FAULTS:
        with subtests.test(value_type=value_type, value=value, why=why):
            by_default = package(**used({"name": "P", "type": value_type, "default": value}))
            by_enum = package(**used({"name": "P", "type": value_type, "enum": [value]}))
            assert found(by_default) == [f'parameter "P" has an invalid default value: {why}']
            assert found(by_enum) == [f'parameter "P" has an invalid enum value: {why}']


def test_a_text_that_is_no_number_is_told_from_where_it_stands() -> None:
    [text] = found(package(**used({"name": "P", "type": "number", "default": '0x1 "a'})))
    start = 'parameter "P" has an invalid default value: type is "number" but format of '
    assert text.startswith(start + r'"0x1 \"a" is invalid: ')


def test_numbers_without_quotes_are_as_good_as_their_text() -> None:
    table: list[tuple[str, object]] = [
        ("integer", 3),
        ("integer", 3.0),
        ("integer", "3"),
        ("integer", 10_000_000),
        ("integer", -(2**63)),
        ("string", 3),
        ("string", "true"),
        ("string", ""),
        ("number", 1.5),
        ("number", 3),
        ("number", "1e3"),
        ("boolean", True),
        ("boolean", "f"),
        ("array", [1, "a"]),
        ("array", "[1, a]"),
        ("array", None),
        ("array", ""),
        ("map", {"a": 1}),
        ("map", "a: 1"),
        ("map", None),
        ("", [1]),
    ]
    for value_type, value in table:
        # BTO-45: an integer without quotes was no integer.
        assert verify(package(**used({"name": "P", "type": value_type, "default": value}))) == ()


def test_a_default_is_one_of_the_enum(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, object, list[Any]]] = [
        ("", "c", ["a", "b"]),
        ("integer", 3, [1, "2"]),
        ("array", ["c"], [["a"], ["b"]]),
        ("map", {"c": 1}, [{"a": 1}]),
    ]
    for value_type, default, enum in table:
        with subtests.test(value_type=value_type, default=default, enum=enum):
            # BTO-68: arrays and maps with an enum crashed.
            declared = {"name": "P", "type": value_type, "default": default, "enum": enum}
            [text] = found(package(**used(declared)))
            assert text.startswith('parameter "P" has an invalid default value: value is "')
            assert '", but only allowed values are [' in text
            assert verify(package(**used({**declared, "default": enum[0]}))) == ()


def test_a_default_outside_the_enum_is_told_in_the_words_of_the_original() -> None:
    [text] = found(package(**used({"name": "P", "default": "c", "enum": ["a", "b"]})))
    why = 'value is "c", but only allowed values are [a b]'
    assert text == f'parameter "P" has an invalid default value: {why}'


def test_an_enum_compares_what_is_stored_not_how_it_is_written() -> None:
    assert (
        verify(package(**used({"name": "P", "type": "integer", "default": "3", "enum": [3]}))) == ()
    )


def test_an_enum_has_values() -> None:
    [text] = found(package(**used({"name": "P", "required": False, "enum": []})))
    assert text == 'parameter "P" is an enum but has no allowed values'


def test_groups_are_defined_once_and_have_names_without_slashes() -> None:
    parameters = [
        {"name": "A", "default": "1", "group": "a/b"},
        {"name": "B", "default": "1", "group": "nope"},
    ]
    of = package(**used(*parameters), groups=[{"name": "a/b"}, {"name": "g"}, {"name": "g"}])
    assert found(of) == [
        "parameter \"A\" has a group with invalid character '/'",
        'parameter "B" has a group "nope" that is not defined in the group section',
        "parameter group \"a/b\" contains invalid character '/'",
        'parameter group "g" is duplicated',
    ]
    assert places(of)[2:] == ["params.yaml: groups[a/b]", "params.yaml: groups[g]"]


def test_an_advanced_parameter_asks_for_no_value() -> None:
    advanced = {"name": "P", "advanced": True}
    assert found(package(**used(advanced))) == [
        (
            'parameter "P" is marked as advanced, but also as required and has no default. '
            "An advanced parameter must either be optional or have a default value"
        )
    ]
    assert found(package(**used({**advanced, "required": False}))) == []
