"""Writing: the bytes of go-yaml v2.3.0, and what cannot be written."""

from types import MappingProxyType

import pytest

from goyaml import DumpError, Limits, dump


def test_strings_that_yaml_holds_plain_stay_plain() -> None:
    table = ["=", "<<", "1,000", "a#b", "p, q", "it's", 'say "hi"', "a-b", "kudo.dev/x", "é", "0o8"]
    for text in table:
        assert dump(text) == f"{text}\n"


def test_strings_that_would_read_back_as_something_else_are_double_quoted() -> None:
    table = [
        "",
        "12_3",
        "0b1",
        "1.",
        ".5",
        "+1",
        "1e5",
        "2020-1-1",
        "12:30:45",
        "no",
        "Null",
        "on",
        "y",
        "~",
        "09",
        "0o7",
        "0777",
        "0x1F",
        ".inf",
        "2020-01-01 10:00:00",
        ".5_0",
    ]
    for text in table:
        assert dump(text) == f'"{text}"\n'


def test_strings_that_yaml_cannot_hold_plain_are_single_quoted() -> None:
    table = [
        "!x",
        "|",
        ">",
        "&a",
        "- x",
        "@x",
        "%x",
        "a: b",
        "x:",
        "a #b",
        "---",
        "...",
        "-",
        "?",
        ":",
        "a ",
        " a",
        "`x",
        "#x",
        "{",
        "[a]",
        '"x',
    ]
    for text in table:
        assert dump(text) == f"'{text}'\n"


def test_strings_with_newlines_are_literal_blocks() -> None:
    table = {
        "line1\nline2": "|-\n  line1\n  line2\n",
        "line1\nline2\n": "|\n  line1\n  line2\n",
        "trail\n\n": "|+\n  trail\n\n",
        "\nx": "|2-\n\n  x\n",
        "  lead\nx": "|2-\n    lead\n  x\n",
        "\n": "|2+\n\n",
        "a\n\nb": "|-\n  a\n\n  b\n",
    }
    assert {text: dump(text) for text in table} == table


def test_strings_that_no_other_style_holds_are_escaped() -> None:
    table = {
        "line1 \nline2": '"line1 \\nline2"\n',
        "a\nb ": '"a\\nb "\n',
        "tab\there": '"tab\\there"\n',
        "win\r\nline": '"win\\r\\nline"\n',
        "\U0001f600": '"\\U0001F600"\n',
        "\x00\x7f\x85\xa0": '"\\0\\x7F\\N\xa0"\n',
        "\ufeffa": '"\\uFEFF\\x61"\n',
        "a\ufeffa": '"a\\uFEFFa"\n',
    }
    assert {text: dump(text) for text in table} == table


def test_bytes_that_are_not_text_become_base64_as_in_go() -> None:
    assert dump("\udcff") == "!!binary /w==\n"
    assert dump({"a": "\udcff" * 60}) == f"a: !!binary |\n  {'/' * 70}\n  {'/' * 10}\n"
    assert dump("\ud800") == "!!binary 7aCA\n"


def test_other_scalars_are_written_as_go_does() -> None:
    table: list[tuple[object, str]] = [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (10000000, "10000000"),
        (123456789012345678901234567890, "123456789012345678901234567890"),
        (1e7, "1e+07"),
        (3.0, "3"),
        (0.00001, "1e-05"),
        (float("inf"), ".inf"),
        (float("-inf"), "-.inf"),
        (float("nan"), ".nan"),
        ({}, "{}"),
        ([], "[]"),
        ((), "[]"),
    ]
    for value, written in table:
        assert dump(value) == f"{written}\n"


def test_sequences_are_indented_under_sequences_but_not_under_keys() -> None:
    value = {"l": [1, [1, [2], {}], {"a": [1], "b": {"c": []}}], "m": {"o": "x\ny"}}
    assert dump(value) == (
        "l:\n- 1\n- - 1\n  - - 2\n  - {}\n- a:\n  - 1\n  b:\n    c: []\nm:\n  o: |-\n    x\n    y\n"
    )


def test_read_only_mappings_and_tuples_are_written_like_their_mutable_kin() -> None:
    assert dump(MappingProxyType({"a": (1, 2)})) == "a:\n- 1\n- 2\n"


def test_keys_are_written_in_natural_order() -> None:
    ordered = [
        "",
        "_x",
        "0",
        "1",
        "2",
        "10",
        "A",
        "Z",
        "a-b",
        "a.b",
        "a/b",
        "a_b",
        "a2",
        "a10",
        "aB",
        "ab",
        "b",
        "heritage",
        "kudo.dev/x",
        "log4j.properties",
        "server.1",
        "server.2",
        "server.10",
        "true",
        "v1.0",
        "v1.9",
        "v1.10",
        "x20",
        "x100",
        "x101",
        "y",
        "z",
        "é",
    ]
    written = dump(dict.fromkeys(reversed(ordered), 1)).splitlines()
    assert [line.removesuffix(": 1").strip('"') for line in written] == ordered
    quoted = [line for line in written if line.startswith('"')]
    assert quoted == ['"": 1', '"0": 1', '"1": 1', '"2": 1', '"10": 1', '"true": 1', '"y": 1']


def test_numbers_inside_keys_are_compared_as_numbers() -> None:
    table: list[tuple[list[str], list[str]]] = [
        (["b", "a1", "a"], ["a", "a1", "b"]),
        (["a01", "a1"], ["a1", "a01"]),
        (["a100", "a101", "a20"], ["a20", "a100", "a101"]),
        (["a00", "a0"], ["a0", "a00"]),
        (["x99999999999999999999", "x1"], ["x1", "x99999999999999999999"]),
    ]
    for keys, ordered in table:
        assert dump(dict.fromkeys(keys)).splitlines() == [f"{key}: null" for key in ordered]


def test_long_and_multiline_keys_are_explicit() -> None:
    long = "k" * 129
    assert dump({"k" * 128: 1}) == f"{'k' * 128}: 1\n"
    assert dump({long: {"a": [1]}}) == f"? {long}\n: a:\n  - 1\n"
    assert dump([{"a\nb": [1, 2]}]) == "- ? |-\n    a\n    b\n  : - 1\n    - 2\n"


def test_the_input_of_a_dependency_hash_is_written_byte_for_byte() -> None:
    labels = {"heritage": "kudo", "kudo.dev/instance": "depop", "kudo.dev/operator": "dep-operator"}
    metadata = {
        "annotations": {},
        "deletionGracePeriodSeconds": 0,
        "finalizers": [],
        "labels": labels,
        "managedFields": [],
        "name": "configdata",
        "ownerReferences": [],
        "remainingItemCount": 0,
    }
    data = {"valueA": "FancyValue", "valueB": "OtherFancyValue"}
    value = {"object": {"apiVersion": "", "data": data, "kind": "", "metadata": metadata}}
    assert dump(value) == (
        'object:\n  apiVersion: ""\n  data:\n    valueA: FancyValue\n    valueB: OtherFancyValue\n'
        '  kind: ""\n  metadata:\n    annotations: {}\n    deletionGracePeriodSeconds: 0\n'
        "    finalizers: []\n    labels:\n      heritage: kudo\n      kudo.dev/instance: depop\n"
        "      kudo.dev/operator: dep-operator\n    managedFields: []\n    name: configdata\n"
        "    ownerReferences: []\n    remainingItemCount: 0\n"
    )


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(DumpError, match="nested deeper than 100 levels"):
        dump(value)


def test_a_value_whose_text_would_be_huge_is_refused() -> None:
    value: list[object] = [1]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(DumpError, match="longer than 1000 characters"):
        dump(value, limits=Limits(size=1000))


def test_what_yaml_has_no_form_for_is_refused(subtests: pytest.Subtests) -> None:
    for value in [{1: 2}, {None: 1}, [object()], b"bytes", {"a": {1, 2}}]:
        with subtests.test(value=value), pytest.raises(DumpError, match="cannot write"):
            dump(value)


def test_an_integer_beyond_what_python_prints_is_refused() -> None:
    with pytest.raises(DumpError, match="too many digits"):
        dump([1 << 20_000])


def test_an_error_names_the_limit_that_was_exceeded() -> None:
    with pytest.raises(DumpError) as caught:
        dump(["x"] * 10, limits=Limits(size=10))
    assert caught.value.limit == "size"
    with pytest.raises(DumpError) as caught:
        dump([[["x"]]], limits=Limits(depth=2))
    assert caught.value.limit == "depth"
    with pytest.raises(DumpError) as caught:
        dump([object()])
    assert caught.value.limit == ""
