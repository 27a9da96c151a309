"""Making certificates, and judging what is due of what is stored."""

import datetime as dt
import logging

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.verification import PolicyBuilder, Store
from hypothesis import given
from hypothesis import strategies as st

from kudo_webhook.certificates.authority import (
    Damaged,
    Lifetimes,
    Pair,
    duration,
    new_authority,
    new_leaf,
    pem,
    serving_names,
)
from kudo_webhook.certificates.due import authority_due, leaf_due

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
TIMES = Lifetimes(authority=730 * DAY, leaf=90 * DAY)
NAMES = serving_names("kudo-webhook", "kudo-system")
AUTHORITY = new_authority(NOW, TIMES)
LEAF = new_leaf(AUTHORITY, NAMES, NOW, TIMES)
OTHER = new_authority(NOW, TIMES)


# Making


def test_a_leaf_verifies_for_each_of_its_names() -> None:
    assert {
        "kudo-webhook.kudo-system.svc",
        "kudo-webhook.kudo-system.svc.cluster.local",
        "kudo-webhook.kudo-system",
    } == NAMES
    for name in NAMES:
        builder = PolicyBuilder().store(Store([OTHER.certificate, AUTHORITY.certificate]))
        verifier = builder.time(NOW).build_server_verifier(x509.DNSName(name))
        assert verifier.verify(LEAF.certificate, []) == [LEAF.certificate, AUTHORITY.certificate]


def test_keys_are_ecdsa_p256_and_each_is_new() -> None:
    keys = [pair.key for pair in (AUTHORITY, LEAF, OTHER)]
    assert all(isinstance(key.curve, ec.SECP256R1) for key in keys)
    assert len({key.private_numbers().private_value for key in keys}) == 3


def test_only_an_authority_is_one() -> None:
    assert AUTHORITY.is_authority
    assert not LEAF.is_authority


def test_a_certificate_is_valid_before_it_was_made_for_clocks_that_are_behind() -> None:
    for pair in (AUTHORITY, LEAF):
        assert pair.certificate.not_valid_before_utc == NOW - dt.timedelta(hours=1)


def test_a_leaf_does_not_outlive_its_authority() -> None:
    late = NOW + 700 * DAY
    leaf = new_leaf(AUTHORITY, NAMES, late, TIMES)
    assert leaf.certificate.not_valid_after_utc == AUTHORITY.certificate.not_valid_after_utc


def test_two_authorities_have_different_names() -> None:
    assert AUTHORITY.certificate.subject != OTHER.certificate.subject


# Reading


def test_a_pair_is_read_as_it_was_written() -> None:
    assert read(LEAF) == LEAF
    assert read(LEAF).key_pem == LEAF.key_pem
    assert read(LEAF).names == NAMES


def read(pair: Pair) -> Pair:
    return Pair.read(pair.certificate_pem, pair.key_pem, pem(pair.issuer))


def rsa_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def encrypted(pair: Pair) -> bytes:
    return pair.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


CA = pem(AUTHORITY.certificate)


@pytest.mark.parametrize(
    ("certificate", "key", "issuer", "problem"),
    [
        (b"", LEAF.key_pem, CA, "a certificate is missing"),
        (b"nothing", LEAF.key_pem, CA, "a certificate is missing"),
        (LEAF.key_pem, LEAF.certificate_pem, CA, "a certificate is missing"),
        (LEAF.certificate_pem, b"", CA, "the key is missing"),
        (LEAF.certificate_pem, LEAF.key_pem[:-40], CA, "the key is missing"),
        (LEAF.certificate_pem, encrypted(LEAF), CA, "encrypted"),
        (LEAF.certificate_pem, rsa_key(), CA, "no ECDSA key"),
        (LEAF.certificate_pem, OTHER.key_pem, CA, "the key does not belong"),
        (LEAF.certificate_pem, LEAF.key_pem, b"", "a certificate is missing"),
        (LEAF.certificate_pem, LEAF.key_pem, pem(OTHER.certificate), "not signed by its issuer"),
        (LEAF.certificate_pem, LEAF.key_pem, LEAF.certificate_pem, "not signed by its issuer"),
    ],
)
def test_what_is_no_pair_is_told_without_showing_it(
    certificate: bytes, key: bytes, issuer: bytes, problem: str
) -> None:
    with pytest.raises(Damaged, match=problem) as caught:
        Pair.read(certificate, key, issuer)
    assert caught.value.__cause__ is None
    assert "PRIVATE" not in str(caught.value)


@given(st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_do_more_than_count_as_damaged(a: bytes, b: bytes, c: bytes) -> None:
    with pytest.raises(Damaged):
        Pair.read(a, b, c)


def test_a_key_is_in_no_text() -> None:
    secret = str(LEAF.key.private_numbers().private_value)
    record = logging.makeLogRecord({"msg": "%s", "args": (LEAF,)})
    for text in (repr(LEAF), str(LEAF), record.getMessage()):
        assert secret not in text
        assert "key" not in text.casefold()


# Judging


@pytest.mark.parametrize(
    ("after", "due"),
    [
        (-2 * dt.timedelta(hours=1), "not valid yet"),
        (-dt.timedelta(hours=1), None),
        (0 * DAY, None),
        (583 * DAY, None),
        (584 * DAY, "renewal"),
        (730 * DAY, "renewal"),
        (731 * DAY, "expired"),
    ],
)
def test_an_authority_is_due_at_four_fifths_of_its_life(
    after: dt.timedelta, due: str | None
) -> None:
    assert authority_due(AUTHORITY, NOW + after, TIMES) == due


@pytest.mark.parametrize(
    ("after", "due"),
    [
        (-2 * dt.timedelta(hours=1), "not valid yet"),
        (-dt.timedelta(hours=1), None),
        (59 * DAY, None),
        (60 * DAY, "renewal"),
        (90 * DAY, "renewal"),
        (91 * DAY, "expired"),
    ],
)
def test_a_leaf_is_due_at_two_thirds_of_its_life(after: dt.timedelta, due: str | None) -> None:
    assert leaf_due(LEAF, AUTHORITY, NAMES, NOW + after, TIMES) == due


def test_what_is_not_there_is_due() -> None:
    assert authority_due(None, NOW, TIMES) == "missing"
    assert leaf_due(None, AUTHORITY, NAMES, NOW, TIMES) == "missing"


def test_a_leaf_of_another_authority_is_due() -> None:
    assert leaf_due(LEAF, OTHER, NAMES, NOW, TIMES) == "other authority"


def test_a_leaf_without_one_of_the_names_is_due_and_one_with_more_is_not() -> None:
    others = serving_names("another", "kudo-system")
    assert leaf_due(LEAF, AUTHORITY, others, NOW, TIMES) == "other names"
    both = new_leaf(AUTHORITY, NAMES | others, NOW, TIMES)
    assert leaf_due(both, AUTHORITY, others, NOW, TIMES) is None
    assert leaf_due(both, AUTHORITY, NAMES, NOW, TIMES) is None


def test_what_outlives_shortened_lifetimes_is_due() -> None:
    shorter = Lifetimes(authority=365 * DAY, leaf=30 * DAY)
    assert authority_due(AUTHORITY, NOW, shorter) == "outlives its configuration"
    assert leaf_due(LEAF, AUTHORITY, NAMES, NOW, shorter) == "outlives its configuration"
    longer = Lifetimes(authority=1000 * DAY, leaf=100 * DAY)
    assert authority_due(AUTHORITY, NOW, longer) is None
    assert leaf_due(LEAF, AUTHORITY, NAMES, NOW, longer) is None


lives = st.builds(
    lambda leaf, factor: Lifetimes(authority=leaf * factor, leaf=leaf),
    st.timedeltas(dt.timedelta(seconds=10), 365 * DAY),
    st.integers(2, 20),
)


@given(lives, st.floats(-1.0, 1.0))
def test_what_was_just_made_is_due_for_no_clock_that_differs_a_little(
    times: Lifetimes, skew: float
) -> None:
    authority = new_authority(NOW, times)
    leaf = new_leaf(authority, NAMES, NOW, times)
    # Times in a certificate have no fractions of a second.
    seen = NOW + skew * max(dt.timedelta(), times.backdating - dt.timedelta(seconds=1))
    assert authority_due(authority, seen, times) is None
    assert leaf_due(leaf, authority, NAMES, seen, times) is None


@given(lives)
def test_times_leave_room_for_one_another(times: Lifetimes) -> None:
    left = times.leaf / 3
    assert times.settling + 2 * times.patience + times.polling < left + times.patience
    assert times.patience + times.polling < left
    assert times.overlap > times.leaf + times.backdating
    assert times.polling < times.settling <= dt.timedelta(minutes=1)


# Options


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90d", 90 * DAY),
        ("12h", DAY / 2),
        ("30m", DAY / 48),
        ("45s", dt.timedelta(seconds=45)),
        ("1d12h", 1.5 * DAY),
    ],
)
def test_durations_are_read(text: str, found: dt.timedelta) -> None:
    assert duration(text) == found


@pytest.mark.parametrize("text", ["", "90", "d", "12h1d", "-1d", "1w", "1.5h", "9999999d", " 1d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        duration(text)


@pytest.mark.parametrize(
    ("authority", "leaf", "problem"),
    [
        (DAY, DAY, "twice as long"),
        (DAY, dt.timedelta(seconds=9), "at least"),
        (40000 * DAY, DAY, "must not live"),
    ],
)
def test_lifetimes_that_do_not_fit_are_refused(
    authority: dt.timedelta, leaf: dt.timedelta, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Lifetimes(authority=authority, leaf=leaf)
