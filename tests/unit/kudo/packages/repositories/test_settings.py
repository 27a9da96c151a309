"""The list of repositories of a user."""

import pytest

from kudo.api.problems import InvalidInput
from kudo.packages.repositories.settings import (
    BUILT_IN,
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
    with pytest.raises(InvalidInput, match="repository for x; there are: builtin, own, othe"):
        SETTINGS.find("x")
    with pytest.raises(InvalidInput, match="repository for the context gone; choose another"):
        Settings("gone", ()).find()


def test_the_default_comes_with_the_command_line_and_has_no_address() -> None:
    assert DEFAULT_SETTINGS.find() == Repository(BUILT_IN, "")
    assert DEFAULT_SETTINGS.find().is_built_in
    assert SETTINGS.find(BUILT_IN).is_built_in
    assert [one.name for one in SETTINGS.all()] == [BUILT_IN, "own", "other"]
    assert SETTINGS.with_context(BUILT_IN).find().is_built_in


def test_one_of_that_name_in_the_file_counts() -> None:
    own = Settings("", (Repository(BUILT_IN, "https://example.org"),))
    assert own.find() == own.all()[0] == own.repositories[0]
    assert own.without(BUILT_IN) == DEFAULT_SETTINGS


def test_what_comes_with_the_command_line_cannot_be_removed_or_replaced() -> None:
    with pytest.raises(InvalidInput, match="is in no list; to use another one by default: kubect"):
        SETTINGS.without(BUILT_IN)
    with pytest.raises(InvalidInput, match=r"^repository name \(builtin\) already exists"):
        SETTINGS.with_repository(BUILT_IN, "https://example.org")


@pytest.mark.parametrize(
    ("url", "abandoned"),
    [
        ("https://kudo-repository.storage.googleapis.com/v1", True),
        ("http://KUDO-repository.storage.googleapis.com.:443/0.10.0", True),
        ("https://storage.googleapis.com/kudo-repository/v1", True),
        ("https://storage.googleapis.com/kudo-repository-of-ours/v1", False),
        ("https://storage.googleapis.com/ours", False),
        ("https://example.org/kudo-repository.storage.googleapis.com", False),
        ("file:///srv/kudo-repository", False),
        ("", False),
    ],
)
def test_the_bucket_of_the_former_project_is_recognised(url: str, *, abandoned: bool) -> None:
    assert Repository("community", url).is_abandoned is abandoned


def test_after_the_removal_of_the_context_the_default_is_used() -> None:
    # BTO-9: the context named a repository that was gone, which broke all commands.
    left = SETTINGS.without("own")
    assert (left.context, left.find().name) == ("", BUILT_IN)
    assert SETTINGS.without("other").context == "own"


def test_changes_that_cannot_be_made_are_told() -> None:
    with pytest.raises(InvalidInput, match=r"^repository name \(own\) already exists, please spec"):
        SETTINGS.with_repository("own", "https://example.org")
    with pytest.raises(InvalidInput, match=r'^no repo named "x" found$'):
        SETTINGS.without("x")
    with pytest.raises(InvalidInput, match=r'^no repo named "x" found$'):
        SETTINGS.with_context("x")


def test_a_repository_becomes_the_context_only_if_it_is_chosen() -> None:
    assert DEFAULT_SETTINGS.with_repository("a", "https://example.org").find().name == BUILT_IN
    assert SETTINGS.with_context("other").context == "other"
