"""The words of a command."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo_harness.suite.words import NotClosed, split


def test_a_command_is_split_as_kuttl_does() -> None:
    table: dict[str, list[str]] = {
        "": [],
        "   ": [],
        "kubectl get pods": ["kubectl", "get", "pods"],
        "  a \t b\nc\r\n": ["a", "b", "c"],
        "a 'b c' d": ["a", "b c", "d"],
        'a "b c" d': ["a", "b c", "d"],
        "a'b'\"c\"d": ["abcd"],
        "''": [""],
        'a "" b': ["a", "", "b"],
        r"a\ b": ["a b"],
        r"\'a": ["'a"],
        r"'a\b'": [r"a\b"],
        r'"a\"b"': ['a"b'],
        r'"a\nb"': ["anb"],
        '"a\'b"': ["a'b"],
        "'a\"b'": ['a"b'],
        "a # b c": ["a"],
        "a # b\nc": ["a", "c"],
        "# b": [],
        "a#b c": ["a#b", "c"],
        "'#' a": ["#", "a"],
        "a | b > c; d && e": ["a", "|", "b", ">", "c;", "d", "&&", "e"],
        "-o jsonpath='{.items[*].metadata.name}'": ["-o", "jsonpath={.items[*].metadata.name}"],
        '{"a":1}': ["{a:1}"],
        "ä ö": ["ä", "ö"],
    }
    assert {text: split(text) for text in table} == table


def test_what_is_not_closed_is_an_error(subtests: pytest.Subtests) -> None:
    for text in ["'a", 'a "b', "a\\", '"a\\"', "a '", '"']:
        with subtests.test(text=text), pytest.raises(NotClosed):
            split(text)


@given(st.lists(st.text(max_size=10), max_size=5))
def test_quoted_words_come_back(words: list[str]) -> None:
    assert split(" ".join(shlex.quote(word) for word in words)) == words
