"""The list of repositories of a user."""

import pytest

from kudo.problems import InvalidInput
from kudo.repositories import (
    DEFAULT_SETTINGS,
    Repository,
    Settings,
    read_settings,
    write_settings,
)

WRITTEN = """\
context: own
repoVersion: v1
repositories:
- name: own
  url: https://example.org/v1
- name: other
  url: file:///srv/packages
"""
SETTINGS = Settings(
    "own",
    (Repository("own", "https://example.org/v1"), Repository("other", "file:///srv/packages")),
)


def test_settings_are_read_and_written_in_the_same_bytes() -> None:
    assert read_settings(WRITTEN.encode()) == SETTINGS
    assert write_settings(SETTINGS) == WRITTEN
    assert "more: 1\n" in write_settings(read_settings(b"more: 1"))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "it is not a mapping"),
        ("a: b: c", "line 1"),
        ("repositories: {}x", "line 1"),
        ("repositories: text", "repositories must be a list"),
        ("repositories: [{name: a}]", "each of repositories must have a name and a url"),
        ("context: [a]", "context must be text"),
    ],
)
def test_what_is_no_list_of_repositories_is_told(content: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=text.replace("[", r"\[")):
        read_settings(content.encode())


def test_a_repository_is_found_by_name_or_as_the_context() -> None:
    assert SETTINGS.find().name == "own"
    assert SETTINGS.find("other").url == "file:///srv/packages"
    with pytest.raises(InvalidInput, match="unable to find repository for x; there are: own, othe"):
        SETTINGS.find("x")
    with pytest.raises(InvalidInput, match="repository for the context gone; choose another"):
        Settings("gone", ()).find()
    with pytest.raises(InvalidInput, match="repository for the context; choose one"):
        Settings("", ()).find()


def test_removing_the_context_makes_another_one_the_context() -> None:
    # BTO-9: the context named a repository that was gone, which broke all commands.
    left = SETTINGS.without("own")
    assert (left.context, left.find().name) == ("other", "other")
    assert left.without("other").context == ""
    assert SETTINGS.without("other").context == "own"


def test_changes_that_cannot_be_made_are_told() -> None:
    with pytest.raises(InvalidInput, match=r"^repository name \(own\) already exists, please spec"):
        SETTINGS.with_repository("own", "https://example.org")
    with pytest.raises(InvalidInput, match=r'^no repo named "x" found$'):
        SETTINGS.without("x")
    with pytest.raises(InvalidInput, match=r'^no repo named "x" found$'):
        SETTINGS.with_context("x")
    with pytest.raises(InvalidInput, match=r"^no repositories to set$"):
        Settings("", ()).with_context("x")


def test_the_first_repository_becomes_the_context() -> None:
    assert Settings("", ()).with_repository("a", "https://example.org").context == "a"
    assert DEFAULT_SETTINGS.with_repository("a", "https://example.org").context == "community"
    assert SETTINGS.with_context("other").context == "other"
