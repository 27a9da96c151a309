"""Env files, line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.tasks.pipe import parse_env_file
from kudo.tasks.pipe.artifacts import EnvFileError

LONGEST = 64 * 1024 - 1


def test_a_value_is_all_after_the_first_equals_sign() -> None:
    table: list[tuple[bytes, dict[str, str]]] = [
        (b"", {}),
        (b"A=1", {"A": "1"}),
        (b"A=1\nB=2\n", {"A": "1", "B": "2"}),
        (b"\n  \n\t# no\n#A=1\nB=2", {"B": "2"}),
        (b" \t A=1", {"A": "1"}),
        (b"A= 1 \n", {"A": " 1 "}),
        (b"A=\"1\"\nB='2'", {"A": '"1"', "B": "'2'"}),
        (b"A=1=2==", {"A": "1=2=="}),
        (b"A=", {"A": ""}),
        (b"A=1 # said\n", {"A": "1 # said"}),
        (b"A=1\r\nB=2\r\r\n", {"A": "1", "B": "2\r"}),
        (b"A=1\nA=2\n", {"A": "2"}),
        (b"\xef\xbb\xbfA=1\n", {"A": "1"}),
        (b".a-b_C.9=x\n-=y\n.x=z", {".a-b_C.9": "x", "-": "y", ".x": "z"}),
        ("A=\u00e9\U0001f600".encode(), {"A": "\u00e9\U0001f600"}),
        (b"A=" + b"x" * (LONGEST - 2), {"A": "x" * (LONGEST - 2)}),
    ]
    for content, values in table:
        assert parse_env_file(content) == values


def test_a_line_that_cannot_be_read_is_told_by_its_number_alone(subtests: pytest.Subtests) -> None:
    table: list[tuple[bytes, str]] = [
        (b"SECRET", "line 2 has no '='"),
        (b"export SECRET=1", "line 2 has no valid key"),
        (b"SECRET =1", "line 2 has no valid key"),
        (b"9SECRET=1", "line 2 has no valid key"),
        (b"=SECRET", "line 2 has no valid key"),
        (b".=SECRET", "line 2 has no valid key"),
        (b"..=SECRET", "line 2 has no valid key"),
        (b"..SECRET=1", "line 2 has no valid key"),
        (b"\xef\xbb\xbfSECRET=1", "line 2 has no valid key"),
        (b"SECRET=\xff", "line 2 is not valid UTF-8"),
        (b"SECRET=" + b"x" * LONGEST, "line 2 is longer than 65535 bytes"),
    ]
    for line, words in table:
        with subtests.test(line=line, words=words):
            with pytest.raises(EnvFileError, match=words) as caught:
                parse_env_file(b"A=1\n" + line + b"\n")
            assert "SECRET" not in str(caught.value)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        values = parse_env_file(content)
    except EnvFileError:
        return
    assert all(key and "=" not in key and "\n" not in key for key in values)


KEYS = st.from_regex(r"[_a-zA-Z][-._a-zA-Z0-9]{0,10}", fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=20)


@given(st.dictionaries(KEYS, VALUES))
def test_what_is_written_as_lines_is_read_back(values: dict[str, str]) -> None:
    text = "".join(f"{key}={value}\n" for key, value in values.items())
    assert parse_env_file(text.encode()) == values
