"""Indexes of repositories: reading, writing, building and merging them."""

import pytest

from kudo.api.problems import InvalidInput
from kudo.packages.repositories.building import PackageFile, build, merge
from kudo.packages.repositories.index import (
    MAX_INDEX,
    Index,
    IndexEntry,
    Maintainer,
    read_index,
    write_index,
)

WRITTEN = """\
apiVersion: v1
entries:
  kafka:
  - appVersion: 2.5.1
    description: A log
    digest: {digest}
    maintainers:
    - email: k@example.org
      name: Kay
    name: kafka
    operatorVersion: 1.3.3
    urls:
    - http://localhost/kafka-2.5.1_1.3.3.tgz
generated: "2021-07-02T10:00:00Z"
""".format(digest="0a" * 32)
KAFKA = IndexEntry(
    name="kafka",
    operator_version="1.3.3",
    app_version="2.5.1",
    description="A log",
    maintainers=(Maintainer("Kay", "k@example.org"),),
    urls=("http://localhost/kafka-2.5.1_1.3.3.tgz",),
    digest="0a" * 32,
)


def packed(file: str, version: str, *, app: str = "", name: str = "zk") -> PackageFile:
    return PackageFile(file, "ff" * 32, name, version, app)


def problem(content: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_index(content.encode())
    return str(caught.value)


def test_an_index_is_read_and_written_in_the_same_bytes() -> None:
    index = read_index(WRITTEN.encode())
    assert index == Index({"kafka": (KAFKA,)}, "2021-07-02T10:00:00Z")
    assert write_index(index) == WRITTEN


def test_unknown_fields_are_kept_and_keys_match_in_any_case() -> None:
    text = (
        "APIVersion: v1\nserver: {a: 1}\nentries:\n  zk:\n"
        "  - {Name: zk, OperatorVersion: 1.0.0, home: https://example.org, urls: [zk.tgz]}\n"
    )
    index = read_index(text.encode())
    (entry,) = index.entries["zk"]
    assert (entry.operator_version, entry.others) == ("1.0.0", {"home": "https://example.org"})
    written = write_index(index)
    assert "server:\n  a: 1\n" in written
    assert "  - home: https://example.org\n    name: zk\n" in written


def test_removed_and_deprecated_are_read_and_written() -> None:
    entry = "{operatorVersion: 1.0.0, removed: true, deprecated: true, urls: []}"
    index = read_index(f"apiVersion: v1\nentries: {{zk: [{entry}]}}".encode())
    (found,) = index.entries["zk"]
    assert found.removed
    assert found.deprecated
    assert "    removed: true\n" in write_index(index)


def test_what_is_no_index_is_told() -> None:
    table: list[tuple[str, str]] = [
        ("", "validating index file: no API version defined"),
        ("entries: {}", "validating index file: no API version defined"),
        ("<html>no index</html>", "unmarshalling index file: it is not a mapping"),
        ("a: b: c", "unmarshalling index file: line 1: "),
        ("apiVersion: v1\nentries: []", "entries must be a mapping"),
        (
            "apiVersion: v1\nentries: {zk: [{name: zk}]}",
            "validating index file: package zk is missing an operator version",
        ),
        ("#" * (MAX_INDEX + 1), f"the index is larger than {MAX_INDEX} bytes"),
    ]
    for content, text in table:
        assert text in problem(content)


# BTO-11: an unquoted number made the whole index unreadable.
def test_an_entry_that_cannot_be_read_leaves_the_others(subtests: pytest.Subtests) -> None:
    table = [
        ("{operatorVersion: 1.10}", "operatorVersion must be text; write it in quotes"),
        ("{operatorVersion: '1', digest: abc}", "digest must be the SHA-256 of the package"),
        ("{operatorVersion: '1', removed: 'no'}", "removed must be true or false"),
        ("{operatorVersion: '1', urls: x}", "urls must be a list"),
        ("{operatorVersion: '1', urls: [1]}", "urls must be texts"),
        ("{operatorVersion: '1', maintainers: [x]}", "maintainers must be mappings"),
        ("text", "it is not a mapping"),
    ]
    for entry, why in table:
        with subtests.test(entry=entry, why=why):
            text = (
                f"apiVersion: v1\nentries:\n  zk: [{entry}, {{operatorVersion: 2.0.0}}]\n  a: 1\n"
            )
            index = read_index(text.encode())
            assert [one.operator_version for one in index.entries["zk"]] == ["2.0.0"]
            assert index.warnings[0].startswith(f"entries.zk[0] is left out: {why}")
            assert index.warnings[1] == "entries.a is left out: it is not a list"


def test_an_index_of_files_names_them_as_they_are_called() -> None:
    # BTO-19: the URL was made of name and versions, whatever the file was called.
    index, duplicates = build([packed("zk 1.tgz", "1.0.0")], "https://example.org/v1/", "")
    (entry,) = index.entries["zk"]
    assert entry.urls == ("https://example.org/v1/zk%201.tgz",)
    assert duplicates == []


def test_of_files_with_the_same_versions_the_first_counts() -> None:
    files = [packed("a.tgz", "1.0.0"), packed("b.tgz", "1.0.0"), packed("c.tgz", "1.0.0", app="2")]
    index, duplicates = build(files, "http://localhost/", "")
    assert [entry.urls[0][-5:] for entry in index.entries["zk"]] == ["c.tgz", "a.tgz"]
    assert [(one.file, one.first, str(one.identity)) for one in duplicates] == [
        ("b.tgz", "a.tgz", "zk-1.0.0")
    ]


def test_a_merge_adds_what_is_missing_and_keeps_remote_urls() -> None:
    ours, _ = build([packed("zk-2.tgz", "2.0.0")], "http://localhost", "now")
    remote, _ = build(
        [packed("zk-1.tgz", "1.0.0"), packed("zk-2.tgz", "2.0.0"), packed("n.tgz", "1", name="n")],
        "https://example.org",
        "before",
    )
    merged = merge(ours, remote)
    assert merged.generated == "now"
    assert [entry.urls[0] for entry in merged.all()] == [
        "http://localhost/zk-2.tgz",
        "https://example.org/zk-1.tgz",
        "https://example.org/n.tgz",
    ]
