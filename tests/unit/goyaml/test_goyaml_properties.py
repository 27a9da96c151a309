"""What holds for every value and every text."""

import contextlib
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.goyaml import YamlError, dump, load, load_all

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


@pytest.mark.parametrize(("value", "written"), _RECORDED["dump"])
def test_values_are_written_as_recorded_from_go(value: object, written: str) -> None:
    assert dump(value) == written


@pytest.mark.parametrize(("text", "value"), _RECORDED["load"])
def test_texts_are_read_as_recorded_from_go(text: str, value: object) -> None:
    assert _same(load(text), value)


@pytest.mark.parametrize("text", _RECORDED["refused"])
def test_texts_that_go_refuses_are_refused(text: str) -> None:
    with pytest.raises(YamlError):
        load(text)


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
