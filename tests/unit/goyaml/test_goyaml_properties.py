"""What holds for every value and every text."""

import contextlib
import json
import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from goyaml import YamlError, dump, load, load_all

_RECORDED = json.loads(Path(__file__).with_name("test_goyaml_recorded.json").read_text("utf-8"))

_TEXT = st.text(st.characters(codec="utf-8"), max_size=30) | st.text(
    " \n-:#'\"{}[]&*!|>%@`?,=~.0123456789_eExobyYnN\u2028\ufeff\t", max_size=12
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


def _same(a: object, b: object) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return isinstance(a, bool) == isinstance(b, bool) and math.isclose(a, b, rel_tol=0)
    return type(a) is type(b) and a == b


def _read(text: str) -> object:
    """Return what a text holds, or the error that refuses it."""
    try:
        return load(text)
    except YamlError as error:
        return error


# All recorded rows are one test each, since a row takes less time than a test.


def test_values_are_written_as_recorded_from_go() -> None:
    written = [(value, dump(value), expected) for value, expected in _RECORDED["dump"]]

    assert len(written) >= 500
    assert [row for row in written if row[1] != row[2]] == []


def test_texts_are_read_as_recorded_from_go() -> None:
    read = [(text, _read(text), expected) for text, expected in _RECORDED["load"]]

    assert len(read) >= 500
    assert [row for row in read if not _same(row[1], row[2])] == []


def test_texts_that_go_refuses_are_refused() -> None:
    read = [(text, _read(text)) for text in _RECORDED["refused"]]

    assert len(read) >= 100
    assert [row for row in read if not isinstance(row[1], YamlError)] == []


@given(_VALUES)
def test_what_is_written_reads_back(value: object) -> None:
    assert _same(load(dump(value)), value)


@given(_VALUES)
def test_reading_and_writing_come_to_rest(value: object) -> None:
    read = load(dump(value))
    assert load(dump(read)) == read
    assert dump(load(dump(read))) == dump(read)


@given(st.binary(max_size=200) | _TEXT)
def test_any_input_is_read_or_refused_in_the_one_way(text: str | bytes) -> None:
    with contextlib.suppress(YamlError):
        json.dumps(load_all(text), allow_nan=False)
