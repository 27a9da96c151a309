"""Keys and certificates of templates: what is in them, and that they fit together."""

import json
from datetime import timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gotemplate import Limits
from tests.unit.gotemplate.functions.sprig import NOW, failure, render


def _certificate(text: str) -> tuple[x509.Certificate, str]:
    """Render what gives a certificate; give it and its key."""
    pair = json.loads(render(f"{{{{ {text} | toJson }}}}"))
    return x509.load_pem_x509_certificate(pair["Cert"].encode()), pair["Key"]


def _key(kind: str) -> str:
    return render(f"{{{{ genPrivateKey `{kind}` }}}}")


@pytest.mark.parametrize(
    ("kind", "first_line", "python_type"),
    [
        ("rsa", "-----BEGIN RSA PRIVATE KEY-----", rsa.RSAPrivateKey),
        ("dsa", "-----BEGIN DSA PRIVATE KEY-----", dsa.DSAPrivateKey),
        ("ecdsa", "-----BEGIN EC PRIVATE KEY-----", ec.EllipticCurvePrivateKey),
        ("ed25519", "-----BEGIN PRIVATE KEY-----", ed25519.Ed25519PrivateKey),
    ],
)
def test_keys_are_written_in_the_form_of_their_algorithm(
    kind: str, first_line: str, python_type: type
) -> None:
    text = _key(kind)

    assert text.splitlines()[0] == first_line
    assert isinstance(load_pem_private_key(text.encode(), None), python_type)


def test_an_rsa_key_of_its_own_has_4096_bits_and_one_of_a_certificate_2048() -> None:
    own = load_pem_private_key(_key("").encode(), None)
    _, text = _certificate("genCA `ca` 1")
    of_certificate = load_pem_private_key(text.encode(), None)

    assert isinstance(own, rsa.RSAPrivateKey)
    assert isinstance(of_certificate, rsa.RSAPrivateKey)
    assert (own.key_size, of_certificate.key_size) == (4096, 2048)


def test_a_certificate_is_valid_from_now_for_so_many_days() -> None:
    certificate, _ = _certificate("genCA `ca` 30")

    start = NOW.replace(microsecond=0)
    assert certificate.not_valid_before_utc == start
    assert certificate.not_valid_after_utc == start + timedelta(days=30)


def test_a_certificate_names_its_subject_addresses_and_hosts() -> None:
    hosts = "(list `db.example` `*.db.example`)"
    certificate, _ = _certificate(
        f"genSelfSignedCert `db` (list `192.0.2.1` `::1` `::ffff:192.0.2.2`) {hosts} 1"
    )

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "db"
    assert names.value.get_values_for_type(x509.DNSName) == ["db.example", "*.db.example"]
    assert names.value.get_values_for_type(x509.IPAddress) == [
        ip_address("192.0.2.1"),
        ip_address("::1"),
        ip_address("192.0.2.2"),
    ]
    assert not names.critical


def test_a_certificate_without_a_name_makes_its_hosts_critical() -> None:
    certificate, _ = _certificate("genSelfSignedCert `` nil (list `h`) 1")

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert not certificate.subject.rdns
    assert names.critical


@pytest.mark.parametrize(
    ("text", "authority"),
    [("genCA `x` 1", True), ("genSelfSignedCert `x` nil nil 1", False)],
)
def test_only_an_authority_may_sign_certificates(text: str, authority: bool) -> None:
    certificate, _ = _certificate(text)

    extensions = certificate.extensions
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    purposes = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert usage.key_cert_sign is authority
    assert usage.digital_signature
    assert usage.key_encipherment
    assert constraints.value.ca is authority
    assert constraints.critical
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


def test_a_signed_certificate_verifies_with_its_authority() -> None:
    text = (
        "{{ $ca := genCA `ca` 1 }}{{ $s := genSignedCert `server` nil (list `h`) 1 $ca }}"
        "{{ dict `ca` $ca.Cert `cert` $s.Cert `key` $s.Key | toJson }}"
    )
    found = json.loads(render(text))

    authority = x509.load_pem_x509_certificate(found["ca"].encode())
    certificate = x509.load_pem_x509_certificate(found["cert"].encode())
    key = load_pem_private_key(found["key"].encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    certificate.verify_directly_issued_by(authority)
    assert certificate.public_key() == key.public_key()
    of_issuer = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    of_authority = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    assert of_issuer.value.key_identifier == of_authority.value.digest


def test_a_key_of_any_kind_that_signs_can_be_given(subtests: pytest.Subtests) -> None:
    for kind in ["ecdsa", "ed25519"]:
        with subtests.test(kind=kind):
            text = (
                f"{{{{ $k := genPrivateKey `{kind}` }}}}{{{{ $ca := genCAWithKey `ca` 1 $k }}}}"
                "{{ genSignedCertWithKey `x` nil nil 1 $ca $k | toJson }}"
            )
            pair = json.loads(render(text))

            certificate = x509.load_pem_x509_certificate(pair["Cert"].encode())
            assert certificate.issuer.rfc4514_string() == "CN=ca"


def test_serial_numbers_come_from_the_sources() -> None:
    text = "{{ (genCA `x` 1).Cert }}"
    found = [
        x509.load_pem_x509_certificate(render(text, seed=seed).encode()).serial_number
        for seed in ("a", "a", "b")
    ]

    assert found[0] == found[1] != found[2]


@pytest.mark.filterwarnings("ignore:Attribute's length must be")
def test_a_name_may_be_longer_than_the_standard_says() -> None:
    name = "n" * 100
    certificate, _ = _certificate(f"genSignedCert `x` nil nil 1 (genCA `{name}` 1)")

    assert certificate.issuer.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == name


def test_what_no_certificate_can_hold_is_an_error() -> None:
    for text in ("genCA `x` -1", "genCA `x` 99999999", "genCA `x` 9223372036854775807"):
        assert "error creating certificate" in str(failure(f"{{{{ {text} }}}}"))


def test_keys_are_expensive() -> None:
    error = failure(
        "{{ range until 10 }}{{ genPrivateKey `ecdsa` }}{{ end }}", limits=Limits(expensive=3)
    )

    assert error.limit == "expensive"


def test_a_long_text_full_of_beginnings_is_no_key() -> None:
    text = "-----BEGIN EC PRIVATE KEY-----\n" * 30_000

    for part in (text, text[:60_000]):
        assert "no PEM data" in str(failure("{{ genCAWithKey `n` 1 .k }}", {"k": part}))
