"""Instances parsed once for each of their states."""

from kudo.api import JsonObject
from kudo_reconciler.common.keys import Key
from kudo_reconciler.store.instances import ParsedInstances

KEY = Key("ns", "i")


def stored(name: str = "i", **metadata: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": "5", **metadata}}


def test_an_object_is_parsed_once() -> None:
    parsed, cached = ParsedInstances(), stored()
    assert parsed.of(KEY, cached) is parsed.of(KEY, cached)


def test_another_state_is_parsed_anew_although_its_resource_version_is_the_same() -> None:
    parsed = ParsedInstances()
    before = parsed.of(KEY, stored(uid="a"))
    assert before.metadata.uid == "a"
    assert parsed.of(KEY, stored(uid="b")).metadata.uid == "b"


def test_those_that_were_not_used_for_longest_are_parsed_anew() -> None:
    parsed, cached, used = ParsedInstances(), stored(), stored("used")
    first, again = parsed.of(KEY, cached), parsed.of(Key("ns", "used"), used)
    for number in range(127):
        parsed.of(Key("ns", f"i-{number}"), stored(f"i-{number}"))
        parsed.of(Key("ns", "used"), used)
    assert parsed.of(KEY, cached) is not first
    assert parsed.of(Key("ns", "used"), used) is again


def test_one_that_is_gone_is_not_kept() -> None:
    parsed, cached = ParsedInstances(), stored()
    first = parsed.of(KEY, cached)
    parsed.forget(KEY)
    assert parsed.of(KEY, cached) is not first
