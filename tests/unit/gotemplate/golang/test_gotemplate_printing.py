"""Printing what JSON cannot carry, and so no golden case: infinities, odd keys, whole types."""

import math

import pytest

from gotemplate import Environment, Function, TemplateError
from gotemplate.types.signature import BOOL, FLOAT, LIST, MAP


def render(text: str, **data: object) -> str:
    return Environment().parse("t", text).render(data)


def test_numbers_that_are_none(subtests: pytest.Subtests) -> None:
    table = [
        ("%v", "+Inf -Inf NaN"),
        ("%f", "+Inf -Inf NaN"),
        ("%+v", "+Inf -Inf NaN"),
        ("%+g", "+Inf -Inf +NaN"),
        ("% f", " Inf -Inf  NaN"),
        ("%06.1f", "  +Inf   -Inf    NaN"),
        ("%-6e|", "+Inf  | -Inf  | NaN   |"),
    ]
    for verb, expected in table:
        with subtests.test(verb=verb, expected=expected):
            text = f'{{{{ printf "{verb} {verb} {verb}" .p .n .x }}}}'

            assert render(text, p=math.inf, n=-math.inf, x=math.nan) == expected


def test_numbers_that_are_none_compare_as_floats_do() -> None:
    assert render("{{ eq .x .x }}{{ lt .p .x }}{{ gt .p 1.0 }}", p=math.inf, x=math.nan) == (
        "falsefalsetrue"
    )
    assert render("{{ int .p }}{{ int .x }}", p=math.inf, x=math.nan) == str(-(2**63)) * 2


def test_negative_zero_keeps_its_sign() -> None:
    assert render('{{ .z }} {{ printf "%.1f %e %b" .z .z .z }}', z=-0.0) == (
        "-0 -0.0 -0.000000e+00 -0p-1074"
    )


def test_maps_with_keys_of_several_types_have_an_order() -> None:
    data: dict[object, object] = {"b": 1, 2: "x", "a": 2, 1.5: 3, None: 4}

    assert render("{{ .m }}", m=data) == render("{{ .m }}", m=dict(reversed(data.items())))


def test_integers_of_the_data_are_exact() -> None:
    assert render("{{ .i }} {{ .f }}", i=1_000_000, f=1_000_000.0) == "1000000 1e+06"
    assert render('{{ printf "%d %x" .i .i }}', i=2**64) == "18446744073709551616 10000000000000000"


def test_constants_become_the_type_of_the_parameter() -> None:
    functions = {
        "half": Function("half", lambda number: number / 2, (FLOAT,)),
        "flip": Function("flip", lambda value: not value, (BOOL,)),
        "count": Function("count", lambda value: len(value or ()), (LIST,)),
        "size": Function("size", lambda value: len(value or {}), (MAP,)),
    }
    environment = Environment(functions=functions)

    def check(text: str, expected: str) -> None:
        assert environment.parse("t", text).render({"l": [1], "m": {"a": 1}, "i": 1}) == expected

    def refuse(text: str, expected: str) -> None:
        with pytest.raises(TemplateError) as caught:
            environment.parse("t", text).render({"i": 1})
        assert caught.value.message == expected

    check("{{ half 3 }} {{ half 0.5 }} {{ half 'b' }}", "1.5 0.25 49")
    check("{{ flip true }}", "false")
    check("{{ count .l }}{{ count nil }}{{ size .m }}{{ size nil }}", "1010")
    refuse('{{ half "1" }}', 'expected float; found "1"')
    refuse("{{ half .i }}", "wrong type for value; expected float64; got int")
    refuse("{{ flip 1 }}", "expected bool; found 1")
    refuse("{{ flip nil }}", "cannot assign nil to bool")
    refuse("{{ count 1 }}", "can't handle 1 for arg of type []interface {}")
    refuse("{{ size .i }}", "wrong type for value; expected map[string]interface {}; got int")
