"""Fingerprints: equal for equal values, and nothing to read from them."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from kudo.api.fingerprints import fingerprint, fingerprints

_texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(_texts, _texts)
def test_values_have_the_same_fingerprint_only_if_they_are_the_same(one: str, two: str) -> None:
    assert (fingerprint(one) == fingerprint(two)) == (one == two)


@given(_texts)
def test_a_fingerprint_is_a_prefix_of_the_sha_256_in_hex(value: str) -> None:
    assert len(fingerprint(value)) == 16
    assert hashlib.sha256(value.encode()).hexdigest().startswith(fingerprint(value))


def test_the_stored_form_stays_what_it_is() -> None:
    assert fingerprint("") == "e3b0c44298fc1c14"
    assert fingerprint("secret") == "2bb80d537b1da3e3"


def test_each_value_has_its_fingerprint_by_name_in_order() -> None:
    found = fingerprints({"b": "1", "a": "2"})
    assert list(found.items()) == [("a", fingerprint("2")), ("b", fingerprint("1"))]
    assert fingerprints({}) == {}
