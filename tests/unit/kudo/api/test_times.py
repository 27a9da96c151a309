"""Durations of limits: what is one, and the words for what is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Task
from kudo.api.times import DurationError, seconds_of


def test_a_duration_is_read_as_go_reads_it() -> None:
    table: dict[str, float] = {
        "90s": 90,
        "10m": 600,
        "1h30m": 5400,
        "+2m": 120,
        "1.5h": 5400,
        ".5s": 0.5,
        "500ms": 0.5,
        "0h1s": 1,
        "1ns": 1e-9,
    }
    assert {text: seconds_of(text) for text in table} == table


def test_what_is_no_duration_is_refused_with_the_reason(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        ("", 'time: invalid duration ""'),
        ("10", 'time: missing unit in duration "10"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("10 m", 'time: unknown unit " m" in duration "10 m"'),
        ("soon", 'time: invalid duration "soon"'),
        ("0", '"0" is not more than zero'),
        ("0s", '"0s" is not more than zero'),
        ("-5m", '"-5m" is not more than zero'),
        ("300000000h", 'time: invalid duration "300000000h"'),
        ("1" * 65, "it is longer than 64 characters"),
    ]
    for text, why in table:
        with subtests.test(text=text, why=why):
            with pytest.raises(DurationError) as caught:
                seconds_of(text)
            assert str(caught.value) == why


_SCHEMA = Task.model_json_schema()["properties"]["timeout"]["anyOf"][0]
_TEXTS = st.text(max_size=70) | st.from_regex(
    r"[-+]?([0-9.]{0,4}(h|m|s|ms|d)?){0,3}", fullmatch=True
)


@given(_TEXTS)
def test_any_text_is_refused_in_few_words_or_is_more_than_zero_and_fits_the_schema(
    text: str,
) -> None:
    why = ""
    try:
        assert seconds_of(text) > 0
    except DurationError as error:
        why = str(error)
    assert len(why) <= 201
    fits = len(text) <= _SCHEMA["maxLength"] and re.search(_SCHEMA["pattern"], text)
    assert why or fits
