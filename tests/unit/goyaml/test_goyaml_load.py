"""Reading: which values a text stands for, where errors are, and what is refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goyaml import (
    INLINE,
    Budget,
    Limits,
    NotTextError,
    SecondDocument,
    YamlError,
    decode,
    json_documents,
    load,
    load_all,
)


def test_words_for_true_are_booleans_as_values_and_as_keys(subtests: pytest.Subtests) -> None:
    table = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]
    for word in table:
        with subtests.test(word=word):
            assert load(f"a: {word}") == {"a": True}
            assert load(f"{word}: 1") == {"true": 1}
            assert load(f"a: '{word}'") == {"a": word}


def test_words_for_false_are_booleans_as_values_and_as_keys(subtests: pytest.Subtests) -> None:
    table = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]
    for word in table:
        with subtests.test(word=word):
            assert load(f"a: {word}") == {"a": False}
            assert load(f"{word}: 1") == {"false": 1}


def test_words_for_nothing_are_none() -> None:
    for word in ["", "~", "null", "Null", "NULL"]:
        assert load(f"a: {word}") == {"a": None}


def test_integers_are_read_with_gos_prefixes_and_exactly(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, int]] = [
        ("12", 12),
        ("-0", 0),
        ("+12", 12),
        ("1_000", 1000),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("0o17", 15),
        ("0777", 511),
        ("00012", 10),
        ("0b101", 5),
        ("0b-11", -3),
        ("9223372036854775808", 2**63),
        ("0xFFFFFFFFFFFFFFFF", 2**64 - 1),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ]
    for text, number in table:
        with subtests.test(text=text, number=number):
            value = load(text)
            assert isinstance(value, int)
            assert value == number


def test_floats_are_read_as_go_does(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, float]] = [
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("-.5E-1", -0.05),
        ("09", 9.0),
        ("1_0.5", 10.5),
        (".5_0", 0.5),
        ("0777777777777777777777777777", 7.777777777777778e26),
    ]
    for text, number in table:
        with subtests.test(text=text, number=number):
            value = load(text)
            assert isinstance(value, float)
            assert value == number


def test_what_looks_like_a_number_or_date_elsewhere_is_a_string() -> None:
    table: list[str] = [
        "1:30",
        "2020-01-01",
        "2020-01-01T10:00:00Z",
        "=",
        "<<",
        "0o8",
        "1e400",
        "._5",
        "1.2.3",
        "nUll",
        "yEs",
        "+0xFFFFFFFFFFFFFFFF",
        "9" * 400,
        "1__e",
    ]
    for text in table:
        assert load(f"a: {text}") == {"a": text}


def test_tags_only_choose_between_scalars() -> None:
    table: dict[str, object] = {
        "a: !!str 1": {"a": "1"},
        'a: !!int "5"': {"a": 5},
        "a: !!float 5": {"a": 5.0},
        "a: !!bool y": {"a": True},
        "a: !!binary aGk=": {"a": "hi"},
        "a: !foo 1": {"a": "1"},
        "a: !!set {x, y}": {"a": {"x": None, "true": None}},
        "a: !!timestamp 2020-01-01": {"a": "2020-01-01"},
        "a: !!python/object:os.system x": {"a": "x"},
    }
    assert {text: load(text) for text in table} == table


def test_keys_become_strings() -> None:
    table = [
        ("1", "1"),
        ("0x10", "16"),
        ("1.5", "1.5"),
        ("1.123456789", "1.1234568"),
        (".inf", ".inf"),
        ("1e20", "1e+20"),
        ("2020-01-01", "2020-01-01"),
        ("''", ""),
    ]
    for text, key in table:
        assert load(f"{text}: x") == {key: "x"}


def test_of_keys_given_twice_the_last_one_counts() -> None:
    assert load("{a: 1, b: 2, a: 3, 1: p, '1': q}") == {"a": 3, "b": 2, "1": "q"}


def test_merge_keys_merge_where_they_stand() -> None:
    table: dict[str, object] = {
        "{<<: {a: 2, b: 3}, a: 1}": {"a": 1, "b": 3},
        "{a: 1, <<: {a: 2, b: 3}}": {"a": 2, "b": 3},
        "{<<: [{a: 1}, {a: 2, b: 3}]}": {"a": 1, "b": 3},
        "{!!merge <<: {a: 1}}": {"a": 1},
        '{"<<": {a: 2}}': {"<<": {"a": 2}},
        "[<<, {x: <<}]": ["<<", {"x": "<<"}],
        "b: &b {x: 1}\nc:\n  <<: *b\n  z: 2": {"b": {"x": 1}, "c": {"x": 1, "z": 2}},
    }
    assert {text: load(text) for text in table} == table


def test_aliases_are_copies() -> None:
    value = load("a: &x {b: [1]}\nc: *x\nd: [*x]")
    assert value == {"a": {"b": [1]}, "c": {"b": [1]}, "d": [{"b": [1]}]}
    assert isinstance(value, dict)
    assert value["a"] is not value["c"]
    assert value["a"]["b"] is not value["d"][0]["b"]


def test_a_key_can_be_anchored_and_repeated() -> None:
    assert load("&k a: &v b\nc: *k\n*v : 1") == {"a": "b", "c": "a", "b": 1}


def test_only_the_first_document_counts_unless_all_are_asked_for() -> None:
    text = "a: 1\n---\n- 2\n---\n"
    assert load(text) == {"a": 1}
    assert load_all(text) == [{"a": 1}, [2], None]
    assert load("--- 1\n...\nb: [") == 1


def test_anchors_end_with_their_document() -> None:
    with pytest.raises(YamlError, match="unknown anchor 'x' referenced"):
        load_all("&x 1\n---\n*x")


@pytest.mark.parametrize("text", ["", "---", "# words", b"", "\n\n"])
def test_an_empty_text_has_no_value(text: str | bytes) -> None:
    assert load(text) is None


def test_bytes_are_read_with_their_byte_order_mark() -> None:
    assert load("\ufeffa: é".encode()) == {"a": "é"}
    assert load("a: é".encode("utf-16")) == {"a": "é"}


def test_errors_name_the_place(subtests: pytest.Subtests) -> None:
    table = [
        ("a: b: c", 1, 5, "mapping values are not allowed in this context"),
        ("a:\n\t- b", 2, 1, "found character that cannot start any token"),
        ("x: 1\n~: 1", 2, 1, "null cannot be a key"),
        ("? [a]\n: b", 1, 3, "a mapping or sequence cannot be a key"),
        ("x: &a {y: 1}\n*a : 1", 2, 1, "a mapping or sequence cannot be a key"),
        ("a:\n- .inf", 2, 3, "unsupported value: .inf"),
        ("a: .NaN", 1, 4, "unsupported value: .NaN"),
        ("a: &x [*x]", 1, 8, "anchor 'x' value contains itself"),
        ("a: *x", 1, 4, "unknown anchor 'x' referenced"),
        ("{<<: 5}", 1, 6, "map merge requires map or sequence of maps as the value"),
        ("a: !!int x", 1, 4, "cannot decode !!str `x` as a !!int"),
        ("a: !!binary x", 1, 4, "!!binary value contains invalid base64 data"),
        ("a\nb: \x01", 2, 4, "control characters are not allowed"),
        ("\ud800", 1, 1, "the text is not valid Unicode"),
    ]
    for text, line, column, message in table:
        with subtests.test(text=text, line=line, column=column, message=message):
            with pytest.raises(YamlError) as caught:
                load(text)
            error = caught.value
            assert (error.line, error.column) == (line, column)
            assert error.message.endswith(message)
            assert str(error) == f"line {line}, column {column}: {error.message}"


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(YamlError, match="line 2, column 4: not UTF-8 text at byte 5; save"):
        load(b"a\nb: \xff")


def test_a_byte_order_mark_before_a_document_is_left_out() -> None:
    for before in ["", "\n", "\n\n  "]:
        assert load(f"{before}\ufeffa: '\ufeff'") == {"a": "\ufeff"}


def test_another_document_is_an_error_where_a_single_one_is_read() -> None:
    assert load("# text\n---\na: 1\n---\n# nothing\n...\n", single=True) == {"a": 1}
    for text, line in (("a: 1\n---\nb: 2", 2), ('{"a": 1}\n{"b": 2}', 2), ("a: 1\n...\nb: 2", 3)):
        assert load(text) == {"a": 1}
        with pytest.raises(SecondDocument) as caught:
            load(text, single=True)
        assert caught.value.line == line


def test_files_are_decoded_by_their_byte_order_mark() -> None:
    for encoding in ["utf-8", "utf-8-sig", "utf-16"]:
        assert decode("a: é 😀\r\n".encode(encoding)) == "a: é 😀\r\n"


def test_big_endian_utf_16_is_decoded() -> None:
    assert decode("\ufeffa: é".encode("utf-16-be")) == "a: é"


def test_what_is_no_text_is_refused_with_its_offset(subtests: pytest.Subtests) -> None:
    table: list[tuple[bytes, int, int]] = [
        (b"a\nb\xff", 3, 2),
        (b"\xef\xbb\xbfa\xff", 4, 1),
        ("a\nb".encode("utf-16") + b"c", 8, 2),
        ("\ufeffa\n".encode("utf-16-le") + b"\x00\xd8", 6, 2),
        ("é\nb".encode("utf-16-le"), 0, 1),
        ("a: b".encode("utf-16-le"), 1, 1),
        (b"\xff\xfe\0\0a\0\0\0", 2, 1),
    ]
    for content, offset, line in table:
        with subtests.test(content=content, offset=offset, line=line):
            with pytest.raises(NotTextError, match="; save the file as UTF-8") as caught:
                decode(content)
            assert (caught.value.offset, caught.value.line) == (offset, line)


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
    spaces=st.sampled_from([None, 1]),
)
def test_what_json_writes_in_ascii_is_read(value: object, spaces: int | None) -> None:
    assert load(json.dumps([value], indent=spaces), single=True) == [value]


def test_surrogates_count_only_as_a_pair_inside_of_json_texts() -> None:
    assert load(r'{"a": "\\ud83d\\ude00 \\\ud83d\uDE00"}') == {"a": "\\ud83d\\ude00 \\😀"}
    assert load(r"{a: '\ud83d\ude00'}") == {"a": r"\ud83d\ude00"}
    for text in (r'{"a": "\ud83d"}', r'{"a": "\ude00\ud83d"}', r'{"a": "\ud83d\u0041"}'):
        with pytest.raises(YamlError, match="invalid Unicode character escape code"):
            load(text)


def test_json_documents_may_follow_each_other(subtests: pytest.Subtests) -> None:
    table = [
        ('{"a": 1}', 1),
        ('{"a": 1}\n{"a": 2} {"b": {}}\n', 3),
        ('{"a": "}{"}', 1),
        ('{"a": "\\"}{"}{}', 2),
        ("{a: 'x}\n{y'}", 1),
        ("a: b\nc: {}\n", 1),
    ]
    for text, documents in table:
        with subtests.test(text=text, documents=documents):
            found = list(json_documents(text))

            assert len(found) == documents
            assert "".join(text[start:end] for start, end in found) == text


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? "])
def test_deep_nesting_is_refused_without_recursion(opening: str) -> None:
    with pytest.raises(YamlError, match=r"nested deeper than 100 levels|cannot be a key"):
        load(opening * 10_000)


def test_nesting_counts_through_aliases() -> None:
    links = "".join(f"k{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 120))
    with pytest.raises(YamlError, match="nested deeper than 100 levels"):
        load("k0: &a0 []\n" + links)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(YamlError):
        load("\n".join(lines))


def test_aliases_of_long_texts_are_refused() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1000)}]"
    with pytest.raises(YamlError, match="excessive aliasing"):
        load(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: bcdefghijkl", "longer than 10 characters"), ("[1,2,3,4]", "more than 3 values")],
)
def test_large_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(YamlError, match=message):
        load(text, limits=Limits(size=10, nodes=3))


def test_infinities_are_keys_but_never_values() -> None:
    value = load("-.inf: 1e308")
    assert value == {"-.inf": 1e308}
    assert isinstance(value, dict)
    assert math.isfinite(value["-.inf"])


_TAGS = "".join(f"%TAG !a{number}! tag:example.org,2026:\n" for number in range(101))


def test_an_error_names_the_limit_that_was_exceeded(subtests: pytest.Subtests) -> None:
    table: list[tuple[str | bytes, str]] = [
        ("a: " + "b" * 100, "size"),
        ("[1, 2, 3, 4, 5]", "nodes"),
        ("[&a 1, *a, *a, *a]", "aliased"),
        ("[[[[1]]]]", "depth"),
        ("[&a [[]], [*a]]", "depth"),
        (_TAGS[:82] + "--- a", "directives"),
        ("\ufeff" + _TAGS[:82] + "--- a", "directives"),
        (("--- a\n...\r" + _TAGS[:82] + "--- a").encode("utf-16"), "directives"),
        ("a: b: c", ""),
        ("- .inf", ""),
    ]
    for text, limit in table:
        with subtests.test(text=text, limit=limit):
            few = Limits(
                size=100 if limit == "size" else 1000, nodes=5, aliased=4, depth=3, directives=1
            )
            with pytest.raises(YamlError) as caught:
                load_all(text, limits=few)
            assert caught.value.limit == limit


def test_directives_inside_of_texts_do_not_count() -> None:
    text = "a: |\n" + "".join(f"  {line}\n" for line in _TAGS.splitlines())
    assert load(text) == {"a": _TAGS}


def test_a_budget_is_shared_by_all_calls_that_have_it() -> None:
    budget = Budget(Limits(nodes=100))
    # Each call costs more than its one value, since it sets up a parser.
    for _ in range(100 // 11):
        assert load("a", budget=budget) == "a"
    with pytest.raises(YamlError, match="more than 100 values") as caught:
        load("a", budget=budget)
    assert caught.value.limit == "nodes"


def test_a_budget_that_was_exceeded_stays_so() -> None:
    budget = Budget(Limits(size=10))
    with pytest.raises(YamlError):
        load("a: bcdefghijkl", budget=budget)
    with pytest.raises(YamlError) as caught:
        load("a", budget=budget)
    assert caught.value.limit == "size"


def test_errors_show_the_start_of_a_long_value(subtests: pytest.Subtests) -> None:
    table: list[str] = ["!!int " + "x" * 5000, "*" + "x" * 5000, "[&" + "x" * 5000 + " [*a]]"]
    for text in table:
        with subtests.test(text=text):
            with pytest.raises(YamlError) as caught:
                load(text)
            assert len(str(caught.value)) < 250


# What an event loop may read at once; each of these would take it seconds under the full limits.
def test_inline_limits_end_what_would_hold_an_event_loop(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        ("[" + "0," * 100_000 + "]", "size"),
        ("[" + "0," * 30_000 + "]", "nodes"),
        ("---\n" * 16_000, "nodes"),
        ("[&a [" + "0," * 500 + "]," + "*a," * 100 + "]", "aliased"),
        (
            "a: &a {"
            + ",".join(f"k{n}: 1" for n in range(300))
            + "}\nb: {"
            + ", ".join(["<<: *a"] * 200)
            + "}",
            "aliased",
        ),
        ("[&a " + "x" * 1_000 + "," + "*a," * 100 + "]", "aliased"),
        ("[" * 60_000, "depth"),
        (_TAGS + "--- a", "directives"),
    ]
    for text, limit in table:
        with subtests.test(text=text, limit=limit):
            with pytest.raises(YamlError) as caught:
                load_all(text, limits=INLINE)
            assert caught.value.limit == limit
