"""Our engine beside Go's: every case of tests/golden/answers.

The answers were made by real text/template and Sprig; texts and errors must be the same to the
byte, except where a case says why they are not.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gotemplate import Environment, Sources, TemplateError
from tests.golden.case import VARIABLES

_ANSWERS = Path(__file__).parents[2] / "golden" / "answers"
_FAMILIES = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in _ANSWERS.glob("*.json")
}
_ENVIRONMENTS: dict[tuple[str, str], Environment] = {
    (policy, missing): Environment(policy, missing, sources=Sources(variables=VARIABLES))
    for policy in ("operator", "sprig")
    for missing in ("error", "zero", "default")
}

_Record = Mapping[str, Any]


def _ours(name: str, record: _Record, data: Mapping[str, object]) -> dict[str, str]:
    policy = record.get("policy", "operator")
    environment = _ENVIRONMENTS[policy, record.get("missing_key", "error")]
    try:
        return {"output": environment.parse(name, record["text"]).render(data)}
    except TemplateError as error:
        return {"error": str(error)}


def _go(record: _Record) -> dict[str, str]:
    return {key: record[key] for key in ("output", "error") if key in record}


@pytest.fixture
def keys_derived_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive the key of each password and user once: that takes most of the time of all cases."""
    monkeypatch.setattr(hashlib, "scrypt", cache(hashlib.scrypt))


@pytest.mark.usefixtures("keys_derived_once")
@pytest.mark.parametrize("family", sorted(_FAMILIES))
def test_renders_or_fails_as_go_does(family: str) -> None:
    document = _FAMILIES[family]
    different = {}
    for record in document["cases"]:
        expected = record.get("ours", _go(record))
        ours = _ours(family, record, document["data"][record["data"]])
        if ours != expected:
            different[record["text"]] = (ours, expected)

    assert different == {}


def test_there_are_enough_cases_of_every_kind() -> None:
    records = [record for document in _FAMILIES.values() for record in document["cases"]]

    assert len(records) >= 1500
    assert sum("printf" in record["text"] for record in records) >= 300
    assert sum("error" in record for record in records) >= 300


def test_a_case_that_claims_to_differ_does_differ_and_says_why() -> None:
    for document in _FAMILIES.values():
        for record in document["cases"]:
            if "ours" in record:
                assert record["why"], record["text"]
                assert record["ours"] != _go(record), record["text"]


def test_every_function_of_the_policies_has_a_case() -> None:
    words = {
        word
        for document in _FAMILIES.values()
        for record in document["cases"]
        for word in record["text"].replace("(", " ").replace("{", " ").split()
    }

    assert not Environment(policy="sprig").function_names - words
