"""`.kudoignore`: each line of the table was compared with what Git does."""

import pytest

from kudo.api.problems import InvalidInput
from kudo.authoring.archive import parse_ignore_file


def left(text: str, *paths: str) -> list[str]:
    """Return the paths that are not excluded, asking for each folder above them first."""
    rules = parse_ignore_file(text.encode())
    kept = []
    for path in paths:
        parts = path.split("/")
        above = ("/".join(parts[:n]) for n in range(1, len(parts)))
        if any(rules.ignores(folder, folder=True) for folder in above):
            continue
        if not rules.ignores(path, folder=False):
            kept.append(path)
    return kept


def test_patterns_match_as_in_git() -> None:
    table: list[tuple[str, list[str], list[str]]] = [
        ("", ["a"], ["a"]),
        ("# a\n\n   \n", ["a", "# a"], ["a", "# a"]),
        ("a", ["a", "b/a", "a/b", "ab"], ["ab"]),
        ("/a", ["a", "b/a", "a/b"], ["b/a"]),
        ("a/b", ["a/b", "c/a/b", "a/b/c"], ["c/a/b"]),
        ("a/", ["a", "a/b", "c/a/b", "c/a"], ["a", "c/a"]),
        ("*.tgz", ["a.tgz", "b/a.tgz", "a.tgz.txt"], ["a.tgz.txt"]),
        ("a?", ["ab", "a", "abc", "ab/c"], ["a", "abc"]),
        ("a/*", ["a/b", "a/b/c", "b/a"], ["b/a"]),
        ("[ab]x\n[^c-e]y\n[!f]z", ["ax", "cx", "ay", "dy", "az", "fz"], ["cx", "dy", "fz"]),
        ("**/a", ["a", "b/a", "b/c/a"], []),
        ("a/**", ["a", "a/b", "a/b/c"], ["a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b", "b"], ["b"]),
        ("*.md\n!README.md", ["a.md", "README.md", "b/README.md"], ["README.md", "b/README.md"]),
        ("a/\n!a/b", ["a/b"], []),
        ("\\#a\n\\!b\nc\\*", ["#a", "!b", "c*", "cd"], ["cd"]),
        ("a   \nb\\ ", ["a", "b", "b "], ["b"]),
        ("a\r\nb\r\n", ["a", "b", "c"], ["c"]),
        ("/", ["a"], ["a"]),
    ]
    for text, paths, kept in table:
        assert left(text, *paths) == kept


def test_many_stars_cost_no_more_than_the_length_of_the_path() -> None:
    pattern = "/".join(["*a*a*a*a*a*a*a*a*b"] * 30) + "/**/" * 50 + "c"
    assert left(pattern, "/".join(["a" * 250] * 30))


@pytest.mark.parametrize("content", [b"\xff", b"a\n" * 40_000])
def test_a_file_that_is_no_list_of_patterns_is_an_error(content: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"\.kudoignore: "):
        parse_ignore_file(content)
