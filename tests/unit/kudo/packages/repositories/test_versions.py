"""The order of versions, and which one is chosen."""

import pytest

from kudo.api.problems import InvalidInput
from kudo.packages.repositories.index import Index, IndexEntry
from kudo.packages.repositories.versions import choose, is_prerelease, newest_first


def entry(version: str, app: str = "", *, removed: bool = False) -> IndexEntry:
    return IndexEntry("zk", version, app, removed=removed)


def index(*entries: IndexEntry) -> Index:
    return Index({"zk": entries})


def refusal(
    found: Index, name: str = "zk", *, operator_version: str = "", app_version: str = ""
) -> str:
    with pytest.raises(InvalidInput) as caught:
        choose(found, name, operator_version=operator_version, app_version=app_version)
    return str(caught.value)


def test_versions_go_by_app_version_and_then_by_operator_version() -> None:
    # BTO-18: the order of entries without a semantic appVersion depended on that of the file.
    ordered = [
        entry("0.1.0", "2.0.0"),
        entry("0.1.0", "2.0.0-rc1"),
        entry("0.10.0", "1.0.0"),
        entry("0.9.0", "1.0.0"),
        entry("0.3.0", "trunk"),
        entry("0.2.0", "main"),
        entry("9.0.0"),
    ]
    for start in range(len(ordered)):
        rotated = ordered[start:] + ordered[:start]
        assert newest_first(rotated) == newest_first(rotated[::-1]) == ordered


def test_the_newest_release_is_chosen_unless_a_pre_release_is_asked_for() -> None:
    found = index(entry("1.0.0"), entry("2.0.0-rc1"), entry("0.9.0"))
    assert choose(found, "zk").operator_version == "1.0.0"
    assert choose(found, "zk", operator_version="2.0.0-rc1").operator_version == "2.0.0-rc1"


def test_an_operator_version_alone_means_the_newest_app_version_with_it() -> None:
    found = index(entry("1.0.0", "1.0.0"), entry("1.0.0", "3.0.0"), entry("2.0.0", "2.0.0"))
    assert choose(found, "zk", operator_version="1.0.0").app_version == "3.0.0"
    assert choose(found, "zk", app_version="2.0.0").operator_version == "2.0.0"


def test_what_counts_as_a_pre_release() -> None:
    table = [
        ("1.0.0", "", False),
        ("1.0.0-1", "", True),
        ("1.0.0", "2.0.0-beta.1", True),
        ("1.0.0", "2.12-2.5.1", False),
        ("trunk", "main", False),
    ]
    for version, app, expected in table:
        assert is_prerelease(entry(version, app)) is expected


def test_what_was_removed_is_not_chosen() -> None:
    # BTO-17: `removed` was read and not used.
    found = index(entry("1.0.0"), entry("2.0.0", removed=True))
    assert choose(found, "zk").operator_version == "1.0.0"
    assert refusal(found, operator_version="2.0.0") == (
        "getting zk in index file: no operator version found for zk-2.0.0: "
        "--operator-version 2.0.0 was removed from the repository"
    )


def test_what_is_not_there_is_told_with_what_is() -> None:
    found = index(entry("1.0.0", "3.1"), entry("0.9.0"))
    assert refusal(found, "zkk") == (
        "getting zkk in index file: no operator found for: zkk; did you mean zk?"
    )
    assert refusal(found, operator_version="7") == (
        "getting zk in index file: no operator version found for zk-7; there are "
        "--operator-version 1.0.0 --app-version 3.1, --operator-version 0.9.0"
    )
    assert "no operator version found for zk with appVersion 9;" in refusal(found, app_version="9")
    assert "no operator version found for zk that is no pre-release: name one of" in refusal(
        index(entry("1.0.0-rc1"))
    )
