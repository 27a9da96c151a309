"""The words of a command."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo_harness.suite.words import NotClosed, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   ", []),
        ("kubectl get pods", ["kubectl", "get", "pods"]),
        ("  a \t b\nc\r\n", ["a", "b", "c"]),
        ("a 'b c' d", ["a", "b c", "d"]),
        ('a "b c" d', ["a", "b c", "d"]),
        ("a'b'\"c\"d", ["abcd"]),
        ("''", [""]),
        ('a "" b', ["a", "", "b"]),
        (r"a\ b", ["a b"]),
        (r"\'a", ["'a"]),
        (r"'a\b'", [r"a\b"]),
        (r'"a\"b"', ['a"b']),
        (r'"a\nb"', ["anb"]),
        ('"a\'b"', ["a'b"]),
        ("'a\"b'", ['a"b']),
        ("a # b c", ["a"]),
        ("a # b\nc", ["a", "c"]),
        ("# b", []),
        ("a#b c", ["a#b", "c"]),
        ("'#' a", ["#", "a"]),
        ("a | b > c; d && e", ["a", "|", "b", ">", "c;", "d", "&&", "e"]),
        ("-o jsonpath='{.items[*].metadata.name}'", ["-o", "jsonpath={.items[*].metadata.name}"]),
        ('{"a":1}', ["{a:1}"]),
        ("ä ö", ["ä", "ö"]),
    ],
)
def test_a_command_is_split_as_kuttl_does(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("text", ["'a", 'a "b', "a\\", '"a\\"', "a '", '"'])
def test_what_is_not_closed_is_an_error(text: str) -> None:
    with pytest.raises(NotClosed):
        split(text)


@given(st.lists(st.text(max_size=10), max_size=5))
def test_quoted_words_come_back(words: list[str]) -> None:
    assert split(" ".join(shlex.quote(word) for word in words)) == words
