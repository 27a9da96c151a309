"""What templates draw by chance, hash, encrypt, and ask of the host."""

import re
import string
from base64 import b64decode

import bcrypt
import pytest

from gotemplate import Limits
from tests.unit.gotemplate.functions.sprig import failure, render

_PRINTABLE = "".join(map(chr, range(32, 127)))


def test_random_texts_use_all_of_their_characters_and_no_others(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        ("randAlpha", string.ascii_letters),
        ("randAlphaNum", string.ascii_letters + string.digits),
        ("randNumeric", string.digits),
        ("randAscii", _PRINTABLE),
    ]
    for name, characters in table:
        with subtests.test(name=name, characters=characters):
            text = render(f"{{{{ {name} 4000 }}}}")

            assert len(text) == 4000
            assert set(text) == set(characters)


@pytest.mark.parametrize(
    "text",
    [
        "{{ randAlpha 20 }}",
        "{{ randBytes 20 }}",
        "{{ randInt 0 1000000 }}",
        "{{ shuffle `abcdefghijklmnop` }}",
        "{{ uuidv4 }}",
        "{{ encryptAES `p` `text` }}",
        "{{ bcrypt `p` }}",
    ],
)
def test_chance_comes_from_the_sources(text: str) -> None:
    assert render(text, seed="a") == render(text, seed="a") != render(text, seed="b")


def test_random_numbers_stay_in_their_range_and_reach_its_ends() -> None:
    numbers = render("{{ range until 200 }}{{ randInt -1 2 }} {{ end }}").split()

    assert set(numbers) == {"-1", "0", "1"}


def test_random_bytes_are_as_many_as_asked_for() -> None:
    assert [len(b64decode(render(f"{{{{ randBytes {n} }}}}"))) for n in (0, 1, 33)] == [0, 1, 33]


def test_a_uuid_is_one_of_version_four() -> None:
    shape = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

    assert re.fullmatch(shape, render("{{ uuidv4 }}"))


def test_a_shuffled_text_keeps_its_characters() -> None:
    found = render("{{ shuffle `aabcäß☃` }}")

    assert sorted(found) == sorted("aabcäß☃")


@pytest.mark.parametrize("password", ["", "secret", "größe", "x" * 72])
def test_a_hashed_password_is_checked_by_bcrypt(password: str) -> None:
    user, _, hashed = render("{{ htpasswd `me` .p }}", {"p": password}).partition(":")

    assert user == "me"
    assert hashed.startswith("$2a$10$")
    assert bcrypt.checkpw(password.encode(), hashed.encode())


def test_an_encrypted_text_can_be_decrypted(subtests: pytest.Subtests) -> None:
    for text in ["a", "0123456789abcdef", "größe\n", "x" * 1000]:
        with subtests.test(text=text):
            data = {"p": "a password", "t": text}

            assert render("{{ encryptAES .p .t | decryptAES .p }}", data) == text
            assert text not in render("{{ encryptAES .p .t }}", data)


def test_expensive_functions_are_counted() -> None:
    table = [
        "{{ bcrypt `x` }}",
        "{{ htpasswd `u` `x` }}",
        "{{ derivePassword 1 `pin` `p` `u` `s` }}",
        "{{ genCA `x` 1 }}",
        "{{ genPrivateKey `dsa` }}",
        "{{ genSelfSignedCert `x` nil nil 1 }}",
        "{{ buildCustomCert `YQ==` `YQ==` }}",
    ]
    for text in table:
        assert failure(text, limits=Limits(expensive=0)).limit == "expensive"


def test_the_environment_is_that_of_the_sources() -> None:
    assert render("{{ env `HOME` }}|{{ expandenv `$HOME/x` }}") == "/home/of|/home/of/x"
    assert render("{{ env `PATH` }}") == ""


def test_hosts_are_those_of_the_sources() -> None:
    assert render("{{ getHostByName `known` }}") == "192.0.2.7"
    assert "invalid argument to Intn" in str(failure("{{ getHostByName `other` }}"))
