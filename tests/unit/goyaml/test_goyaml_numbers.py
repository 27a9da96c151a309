"""Reading and printing floating-point numbers as Go's strconv does; vectors recorded from Go."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goyaml import format_float, parse_float


def test_floats_are_printed_with_the_fewest_digits(subtests: pytest.Subtests) -> None:
    table: list[tuple[float, str, str]] = [
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (-1.0, "-1", "-1"),
        (0.1, "0.1", "0.1"),
        (3.10, "3.1", "3.1"),
        (1.123456789, "1.123456789", "1.1234568"),
        (999999.0, "999999", "999999"),
        (1000000.0, "1e+06", "1e+06"),
        (123456.789, "123456.789", "123456.79"),
        (1234567.0, "1.234567e+06", "1.234567e+06"),
        (1073741824.0, "1.073741824e+09", "1.0737418e+09"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "1e-05"),
        (0.000012345, "1.2345e-05", "1.2345e-05"),
        (1e21, "1e+21", "1e+21"),
        (5e-324, "5e-324", "0"),
        (1.7976931348623157e308, "1.7976931348623157e+308", "+Inf"),
        (16777217.0, "1.6777217e+07", "1.6777216e+07"),
        (1e39, "1e+39", "+Inf"),
        (1.5e-45, "1.5e-45", "1e-45"),
        (math.inf, "+Inf", "+Inf"),
        (-math.inf, "-Inf", "-Inf"),
        (math.nan, "NaN", "NaN"),
    ]
    for value, double, single in table:
        with subtests.test(value=value, double=double, single=single):
            assert format_float(value) == double
            assert format_float(value, bits=32) == single


def test_go_reads_these_as_numbers() -> None:
    table: dict[str, float] = {
        "1e3": 1000.0,
        "1_000": 1000.0,
        "0_1.5": 1.5,
        "1e1_0": 1e10,
        "-inf": -math.inf,
        "+Infinity": math.inf,
        "0x1p-2": 0.25,
        "0X1P2": 4.0,
        "0x_1p2": 4.0,
        "0x.8p1": 1.0,
        "0x1.p1": 2.0,
        ".5": 0.5,
        "5.": 5.0,
        "9223372036854775808": 9.223372036854775808e18,
    }
    assert {text: parse_float(text) for text in table} == table


def test_not_a_number_is_read_in_any_case_but_without_a_sign() -> None:
    assert all(math.isnan(parse_float(text) or 0.0) for text in ("nan", "NaN", "NAN"))
    assert parse_float("+nan") is None


def test_go_refuses_these_as_numbers() -> None:
    table = [
        "",
        "x",
        ".",
        " 5",
        "5 ",
        "0x10",
        "0x1",
        "1__0",
        "_1",
        "1_",
        "1._5",
        "1_.5",
        "0x1_p2",
        "0x1p_2",
        "1e",
        "inf_",
        "1e999",
        "0x1p99999",
        "0b1",
        "٣",
        "1\n",
    ]
    for text in table:
        assert parse_float(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back_as_itself(value: float) -> None:
    assert parse_float(format_float(value)) == value
