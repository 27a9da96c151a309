"""Sprig's functions beside the golden cases: the clock, changed data, and sizes."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from gotemplate import Limits, TemplateError
from tests.unit.gotemplate.functions.sprig import failure, render


def test_the_clock_is_that_of_the_sources() -> None:
    table = {
        "{{ now }}": "2024-02-29 12:30:15.123456 +0000 UTC",
        "{{ now | date `2006-01-02` }}": "2024-02-29",
        "{{ date `15:04:05` nil }}": "12:30:15",
        "{{ htmlDate `anything` }}": "2024-02-29",
        "{{ htmlDateInZone now `Pacific/Auckland` }}": "2024-03-01",
        "{{ ago (now | dateModify `-90m`) }}": "1h30m0s",
        "{{ ago (now | dateModify `1h1.4s`) }}": "-1h0m1s",
        "{{ ago 1709208000 }}": "30m15s",
        "{{ durationRound (now | dateModify `-50h`) }}": "2d",
        "{{ unixEpoch now }}": "1709209815",
        "{{ (now.AddDate 1 0 0).Format `2006-01-02` }}": "2025-03-01",
        "{{ dateInZone `15:04 MST` now `Europe/Berlin` }}": "13:30 CET",
    }
    assert {text: render(text) for text in table} == table


def test_functions_that_change_maps_change_a_copy_of_the_data(subtests: pytest.Subtests) -> None:
    table = [
        "{{ set .m `x` 1 }}",
        "{{ unset .m `a` }}",
        "{{ set .m.inner `x` 1 }}",
        "{{ set (index .l 0) `x` 1 }}",
        "{{ merge .m (dict `x` 1) }}",
        "{{ mergeOverwrite .m (dict `a` 2) }}",
        "{{ mustMerge .m (dict `inner` (dict `x` 1)) }}",
        "{{ mustMergeOverwrite .m (dict `inner` (dict `b` 1)) }}",
    ]
    for text in table:
        with subtests.test(text=text):
            data = {"m": {"a": 1, "inner": {"b": 2}}, "l": [{"c": 3}]}

            render(text, data)

            assert data == {"m": {"a": 1, "inner": {"b": 2}}, "l": [{"c": 3}]}


def test_a_map_that_was_changed_is_seen_changed() -> None:
    text = "{{ $_ := set .m `x` 1 }}{{ .m.x }}{{ $.m }}"

    assert render(text, {"m": {}}) == "1map[x:1]"


def test_data_that_is_read_only_may_be_changed_in_the_copy() -> None:
    data = MappingProxyType({"m": MappingProxyType({"a": 1})})

    assert render("{{ set .m `x` 1 }}", data) == "map[a:1 x:1]"


def test_a_map_that_contains_itself_is_too_deep_for_whatever_walks_it() -> None:
    start = "{{ $d := dict }}{{ $_ := set $d `self` $d }}"

    for use in ("toJson $d", "deepCopy $d", "toYaml $d", "deepEqual $d $d", "merge $d $d", "$d"):
        assert failure(f"{start}{{{{ {use} }}}}").limit == "value_depth"


def test_what_would_become_too_large_is_refused() -> None:
    table = {
        "{{ repeat 2000000 `x` }}": "string",
        "{{ repeat 1000 (repeat 10000 `x`) }}": "string",
        "{{ until 1000000 }}": "items",
        "{{ seq 1000000 }}": "items",
        "{{ splitList `` (repeat 200000 `x`) }}": "items",
        "{{ split `x` (repeat 200000 `x`) }}": "items",
        "{{ concat (until 90000) (until 90000) }}": "items",
        "{{ replace `x` (repeat 1000 `y`) (repeat 10000 `x`) }}": "string",
        "{{ regexReplaceAll `.*` (repeat 10000 `x`) (repeat 1000 `$0`) }}": "string",
        "{{ regexMatch (repeat 100000 `x`) `x` }}": "pattern",
        "{{ semverCompare (repeat 100000 ` 1`) `1` }}": "pattern",
        "{{ toDate (repeat 100000 `x`) `x` }}": "pattern",
        "{{ regexFindAll `` (repeat 200000 `x`) -1 }}": "search",
        "{{ regexSplit `` (repeat 200000 `x`) -1 }}": "search",
        "{{ randAlpha 2000000 }}": "string",
        "{{ randBytes 2000000 }}": "string",
        "{{ indent 20000 `x` }}": "width",
        "{{ join (repeat 1000 `-`) (until 50000) }}": "string",
        "{{ wrapWith 1 (repeat 1000 `-`) (repeat 10000 `x`) }}": "string",
    }
    assert {text: failure(text).limit for text in table} == table


@pytest.mark.parametrize(
    "text",
    [
        "{{ semverCompare .s `1` }}",
        "{{ semver .s }}",
        "{{ regexMatch .s .s }}",
        "{{ regexReplaceAll `(a*)*$` .s `b` }}",
        "{{ mustDateModify .s (toDate `` ``) }}",
        "{{ toDate .s .s }}",
        "{{ urlParse .s }}",
        "{{ mustFromJson .s }}",
        "{{ snakecase .s }}",
        "{{ wrap 1 .s }}",
        "{{ atoi .s }}{{ int .s }}{{ float64 .s }}{{ toDecimal .s }}",
        "{{ b32dec .s }}{{ b64dec .s }}",
    ],
)
@pytest.mark.parametrize("unit", ["1  ", "a", "0s", "A1", "-", "%", "((", "[", "=", "0"])
def test_long_texts_take_no_more_work_than_the_steps_allow(text: str, unit: str) -> None:
    data = {"s": unit * (4000 // len(unit))}

    assert "internal error" not in _outcome(text, data)


def _outcome(text: str, data: Mapping[str, object]) -> str:
    try:
        return render(text, data, limits=Limits(pattern=4000))
    except TemplateError as error:
        return error.message


def test_a_text_is_the_float_that_strconv_reads() -> None:
    table = {
        "0x1_0p2": "64",
        "0x1_p2": "0",
        "1_0.5": "10.5",
        "-inf": "-Inf",
    }
    assert {text: render(f"{{{{ float64 `{text}` }}}}") for text in table} == table
