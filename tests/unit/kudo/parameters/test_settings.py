"""Values and references to values, as `-p` gives them and as Instances store them."""

import pytest

from kudo.api import Instance, JsonObject, ParameterSource, Reference, Setting
from kudo.api.problems import InvalidInput
from kudo.parameters.settings import (
    assignment,
    patch_of,
    plain_values,
    settings_of,
    with_marks,
    with_settings,
)
from kudo.parameters.sources import parse_assignments
from tests.unit.kudo.builders import declared, version

DB, NEW = Reference("Secret", "db", "password"), Reference("Secret", "new", "password")
NOTES = Reference("ConfigMap", "notes", "today")
OF_DB: JsonObject = {"name": "P", "secretKeyRef": {"name": "db", "key": "password"}}
OF_NEW: JsonObject = {"name": "P", "secretKeyRef": {"name": "new", "key": "password"}}
OF_NOTES: JsonObject = {"name": "N", "configMapKeyRef": {"name": "notes", "key": "today"}}


def test_an_assignment_names_a_value_or_where_it_stands() -> None:
    table: list[tuple[str, str, Setting]] = [
        ("P@secret=db/password", "P", DB),
        ("N@configMap=notes/today", "N", NOTES),
        ("P@secret=db/.tls-key_1", "P", Reference("Secret", "db", ".tls-key_1")),
        ("P=a@secret=b/c", "P", "a@secret=b/c"),
        # Only these two words follow an @: names may contain it.
        ("P@home=x", "P@home", "x"),
        ("secret=x", "secret", "x"),
        ("A@B@secret=db/password", "A@B", DB),
    ]
    for text, name, setting in table:
        assert parse_assignments([text]) == {name: setting}
        assert parse_assignments([assignment(name, setting)]) == {name: setting}
    assert parse_assignments(["P=1", "P@secret=db/password"]) == {"P": DB}


@pytest.mark.parametrize(
    "reference", ["canary", "canary/", "/canary", "a/b/canary", "a/cana+ry", "Canary/x", ""]
)
def test_what_names_no_object_and_key_is_refused_and_not_repeated(reference: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_assignments([f"P@secret={reference}"])
    assert "P@secret needs the name of a Secret and a key: P@secret=NAME/KEY" in str(caught.value)
    assert reference not in str(caught.value) or not reference


def test_a_patch_sets_one_and_removes_the_other() -> None:
    both = {"parameters": {"Q": "1"}, "parametersFrom": [OF_DB, OF_NOTES]}
    table: list[tuple[JsonObject, dict[str, Setting | None], JsonObject]] = [
        ({}, {"Q": "1"}, {"parameters": {"Q": "1"}}),
        ({}, {"P": DB}, {"parametersFrom": [OF_DB]}),
        (
            {"parameters": {"P": "v"}},
            {"P": DB},
            {"parameters": {"P": None}, "parametersFrom": [OF_DB]},
        ),
        (both, {"P": NEW}, {"parametersFrom": [OF_NEW, OF_NOTES]}),
        (both, {"P": DB}, {}),
        (both, {"P": "v"}, {"parameters": {"P": "v"}, "parametersFrom": [OF_NOTES]}),
        (
            both,
            {"P": None, "N": None},
            {"parameters": {"P": None, "N": None}, "parametersFrom": None},
        ),
        (both, {"Q": "2"}, {"parameters": {"Q": "2"}}),
        (both, {}, {}),
    ]
    for spec, settings, patch in table:
        assert patch_of(spec, settings) == patch


def test_a_spec_is_read_as_the_model_reads_it() -> None:
    spec = {"parameters": {"Q": "1"}, "parametersFrom": [OF_DB, OF_NOTES, {"name": "X"}]}
    assert settings_of(spec) == Instance.from_wire({"spec": spec}).settings
    assert plain_values(settings_of(spec)) == {"Q": "1"}
    assert settings_of({}) == {}
    assert ParameterSource.of("N", NOTES).to_wire() == OF_NOTES


def test_settings_are_added_to_a_spec() -> None:
    assert with_settings({"suspend": True}, {}) == {"suspend": True, "parameters": {}}
    spec = with_settings({"parameters": {"P": "v", "Q": "1"}}, {"P": DB, "N": NOTES})
    assert spec == {"parameters": {"Q": "1"}, "parametersFrom": [OF_DB, OF_NOTES]}


def test_a_mark_stands_for_a_secret_text() -> None:
    kinds = declared("P", secret=True, **{"value-type": "map"})
    both = version(parameters=(*kinds, {"name": "Q", "secret": True}))
    assert with_marks(both.parameters, {"SIZE": "1"}) == {"SIZE": "1", "Q": "(secret Q)"}
