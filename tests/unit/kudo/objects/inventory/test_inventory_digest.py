"""Digests of what was applied."""

import hashlib
import hmac
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kudo.api.fingerprints import digest_of

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "a"},
    "stringData": {"p": "1234"},
}
CONTENT = b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"p":"1234"}}'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=10,
)


def reversed_members(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_members(item) for key, item in reversed(value.items())}
    if isinstance(value, list):
        return [reversed_members(item) for item in value]
    return value


def test_the_digest_is_the_sha_256_of_the_sorted_json() -> None:
    text = json.dumps(CONFIG_MAP, sort_keys=True, separators=(",", ":"))
    assert digest_of(CONFIG_MAP, b"key") == hashlib.sha256(text.encode()).hexdigest()[:32]


@given(st.dictionaries(st.text(max_size=5), JSON))
def test_the_order_of_members_does_not_count(fields: dict[str, Any]) -> None:
    assert digest_of(reversed_members(fields), None) == digest_of(fields, None)


@given(JSON, JSON)
def test_different_objects_have_different_digests(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    found = digest_of({**CONFIG_MAP, "data": one}, None)
    assert (found == digest_of({**CONFIG_MAP, "data": other}, None)) is same


def test_the_digest_of_a_secret_is_an_hmac_with_the_key() -> None:
    expected = hmac.new(b"key", CONTENT, "sha256").hexdigest()[:32]
    assert digest_of(dict(reversed(SECRET.items())), b"key") == expected


def test_another_key_gives_a_secret_another_digest() -> None:
    assert digest_of(SECRET, b"key") != digest_of(SECRET, b"other")


def test_a_secret_has_no_digest_without_a_key() -> None:
    for key in [None, b""]:
        assert digest_of(SECRET, key) == ""


def test_a_custom_resource_called_secret_needs_no_key() -> None:
    assert len(digest_of({**SECRET, "apiVersion": "example.com/v1"}, None)) == 32


def test_an_object_too_large_to_be_stored_has_no_digest() -> None:
    assert len(digest_of({**CONFIG_MAP, "data": {"a": "x" * 1_500_000}}, None)) == 32
    assert digest_of({**CONFIG_MAP, "data": {"a": "x" * 1_600_000}}, None) == ""


def test_of_very_many_keys_the_order_counts() -> None:
    keys = {str(number): 0 for number in range(20_000)}
    few = {**CONFIG_MAP, "data": dict(list(keys.items())[:19_000])}
    many = {**CONFIG_MAP, "data": keys}
    assert digest_of(reversed_members(few), None) == digest_of(few, None)
    assert digest_of(reversed_members(many), None) != digest_of(many, None)
