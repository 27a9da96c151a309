"""Values of secret parameters are kept out of texts, and digests of them need a key."""

import pytest

from kudo.api.fingerprints import digest_of, keyed_fingerprint
from kudo.api.known_secrets import MARK, WITHHELD, Confidential
from kudo.api.problems import abridged
from kudo.objects.dependency_hash import MISSING, keyed_digest

LONG = "correct horse battery staple"


@pytest.mark.parametrize(
    ("value", "text", "cleaned"),
    [
        (LONG, f"got {LONG!r}", f"got '{MARK}'"),
        (LONG, "nothing of it", "nothing of it"),
        ("4711", "pin: 4711", f"pin: {MARK}"),
        # In a word it would be replaced by chance, so the text as a whole may not be seen.
        ("4711", "pod web-994711", WITHHELD),
        ("ab", "cab", WITHHELD),
        ("admin", "user admin", WITHHELD),
        ("", "any", "any"),
        ("a line\nof several lines", "has 'of several lines' in it", f"has '{MARK}' in it"),
    ],
)
def test_no_value_stays_in_a_text_however_short_or_common_it_is(
    value: str, text: str, cleaned: str
) -> None:
    assert Confidential([value]).cleaned(text) == cleaned
    assert Confidential([value]).has(text) is (text != cleaned)


def test_of_a_value_that_was_cut_with_its_message_no_part_stays() -> None:
    value = "x1y2z3" * 200
    told = abridged(f"Invalid value: {value}: it is too long", 700)
    assert Confidential([value]).cleaned(told) == WITHHELD


def test_short_lines_of_a_value_are_no_secrets() -> None:
    value = '{\n  "password": "hunter2hunter2"\n}'
    assert Confidential([value]).cleaned("map[a:{}]") == "map[a:{}]"
    assert "hunter2" not in Confidential([value]).cleaned('got "password": "hunter2hunter2" here')


def test_a_value_that_is_too_long_to_be_written_in_all_forms_withholds_a_text() -> None:
    value = "x1y2z3" * 20_000
    assert Confidential([value, LONG]).cleaned(f"{LONG}: {value}!") == WITHHELD
    assert Confidential([value, LONG]).cleaned(f"got {LONG}") == f"got {MARK}"


def test_there_is_nothing_to_clean_without_values() -> None:
    assert not Confidential([])
    assert Confidential([""]).cleaned(LONG) == LONG


def test_the_fingerprint_of_a_secret_depends_on_key_instance_name_and_value() -> None:
    made = {
        keyed_fingerprint(b"key", "uid", "NAME", "value"),
        keyed_fingerprint(b"another", "uid", "NAME", "value"),
        keyed_fingerprint(b"key", "another", "NAME", "value"),
        keyed_fingerprint(b"key", "uid", "OTHER", "value"),
        keyed_fingerprint(b"key", "uid", "NAME", "other"),
    }
    # What stands where is framed by lengths.
    made.add(keyed_fingerprint(b"key", "uidN", "AME", "value"))
    assert len(made) == 6


def test_what_is_confidential_has_a_digest_with_a_key_or_none() -> None:
    obj = {"kind": "ConfigMap", "data": {"pin": "4711"}}
    plain = digest_of(obj, b"key")
    keyed = digest_of(obj, b"key", confidential=True)
    assert plain != keyed
    assert digest_of(obj, None, confidential=True) == ""
    assert digest_of(obj, b"other", confidential=True) != keyed
    assert keyed_digest(b"0" * 16, b"key") != keyed_digest(b"0" * 16, b"other")
    assert keyed_digest(MISSING, b"key") == MISSING
