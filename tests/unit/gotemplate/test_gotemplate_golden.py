"""Our engine beside Go's: every case of tests/golden/gotemplate.json.

The answers were made by real text/template and Sprig; texts and errors must be the same to the
byte, except where a case says why they are not.
"""

import json
from pathlib import Path
from typing import TypedDict

import pytest

from gotemplate import Environment, TemplateError

_FILE = Path(__file__).parents[2] / "golden" / "gotemplate.json"


class _Record(TypedDict, total=False):
    name: str
    text: str
    data: int
    missingkey: str
    output: str
    error: str
    ours: dict[str, str]
    why: str


_DOCUMENT = json.loads(_FILE.read_text(encoding="utf-8"))
_DATA: list[dict[str, object]] = _DOCUMENT["data"]
_RECORDS: list[_Record] = _DOCUMENT["cases"]
_ENVIRONMENTS = {
    "error": Environment(missing_key="error"),
    "zero": Environment(missing_key="zero"),
    "default": Environment(missing_key="default"),
}


def _ours(record: _Record) -> dict[str, str]:
    environment = _ENVIRONMENTS[record.get("missingkey", "error")]
    try:
        template = environment.parse(record["name"], record["text"])
        return {"output": template.render(_DATA[record["data"]])}
    except TemplateError as error:
        return {"error": str(error)}


def _expected(record: _Record) -> dict[str, str]:
    if "ours" in record:
        return record["ours"]
    if "output" in record:
        return {"output": record["output"]}
    return {"error": record["error"]}


@pytest.mark.parametrize("record", _RECORDS, ids=lambda record: record["name"])
def test_renders_or_fails_as_go_does(record: _Record) -> None:
    assert _ours(record) == _expected(record), record["text"]


def test_there_are_enough_cases_and_few_that_differ() -> None:
    different = [record for record in _RECORDS if "ours" in record]

    assert len(_RECORDS) >= 1200
    assert len(different) <= 10
    assert all(record["why"] for record in different)


def test_a_case_that_claims_to_differ_does_differ() -> None:
    for record in _RECORDS:
        if "ours" in record:
            go = {key: record[key] for key in ("output", "error") if key in record}
            assert go != record["ours"], record["name"]
