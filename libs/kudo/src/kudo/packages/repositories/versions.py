"""The order of the versions of a package, and choosing one of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from gotemplate import VersionError
from kudo.api.problems import InvalidInput, Problem, listed
from kudo.api.semver import rank, read_version
from kudo.packages.repositories.index import Index, IndexEntry

_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def newest_first(entries: Iterable[IndexEntry]) -> list[IndexEntry]:
    """Return entries by appVersion, then by operatorVersion; texts that are no versions go last.

    The order is total, so it depends on the entries alone and not on their order in the index.
    """

    def order(entry: IndexEntry) -> tuple[Any, ...]:
        app, operator = entry.app_version, entry.operator_version
        # `1.0` and `v1.0` have the same rank; their texts make the order total.
        return (*rank(app), *rank(operator), app, operator)

    return sorted(entries, key=order, reverse=True)


def search(index: Index, text: str, *, all_versions: bool) -> Iterator[list[IndexEntry]]:
    """Yield the versions of each package, newest first, by name.

    Args:
        index: Where to look.
        text: A part of the name; letters of the other case do not match.
        all_versions: Whether to yield all versions and not only the newest: a release, if there
            is one.
    """
    for name in sorted(index.entries):
        if text not in name:
            continue
        versions = newest_first(entry for entry in index.entries[name] if not entry.removed)
        if all_versions or not versions:
            chosen = versions
        else:
            releases = (entry for entry in versions if not is_prerelease(entry))
            chosen = [next(releases, versions[0])]
        if chosen:
            yield chosen


def is_prerelease(entry: IndexEntry) -> bool:
    """Return whether a version is a pre-release of the operator or of its software.

    An appVersion counts if letters say so: packages write `2.12-2.5.1` for Kafka 2.5.1 with Scala
    2.12, which is a release.
    """
    labels = _prerelease(entry.app_version)
    return bool(_prerelease(entry.operator_version)) or not _LETTERS.isdisjoint(labels)


def _prerelease(text: str) -> str:
    try:
        return read_version(text).prerelease
    except VersionError:
        return ""


def choose(
    index: Index, name: str, *, operator_version: str = "", app_version: str = ""
) -> IndexEntry:
    """Return the newest version of a package that fits; a pre-release only if a version is named.

    Args:
        index: Where to look.
        name: Name of the package.
        operator_version: The operatorVersion, character by character; empty for any.
        app_version: The appVersion, likewise.

    Raises:
        InvalidInput: no version fits. The text says which versions there are.
    """
    entries = index.entries.get(name)
    if not entries:
        from difflib import get_close_matches  # names are mostly right

        close = get_close_matches(name, index.entries, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise _failure(name, f"no operator found for: {name}{hint}")
    fitting = [
        entry
        for entry in newest_first(entries)
        if operator_version in {"", entry.operator_version}
        and app_version in {"", entry.app_version}
    ]
    asked = "-".join(filter(None, (name, operator_version)))
    missing = f"no operator version found for {asked}"
    if not fitting:
        with_app = f" with appVersion {app_version}" if app_version else ""
        raise _failure(name, f"{missing}{with_app}; there are {_shown(entries)}")
    # What was withdrawn stays in the index, so that an error can say so.
    offered = [entry for entry in fitting if not entry.removed]
    if not offered:
        text = f"{missing}: {_shown(fitting)} was removed from the repository"
        raise _failure(name, text)
    if operator_version or app_version:
        return offered[0]
    for entry in offered:
        if not is_prerelease(entry):
            return entry
    text = f"{missing} that is no pre-release: name one of {_shown(offered)}"
    raise _failure(name, text)


def _shown(entries: Sequence[IndexEntry]) -> str:
    """Return versions as the flags that choose them."""
    flags = []
    for entry in newest_first(entries):
        app = f" --app-version {entry.app_version}" if entry.app_version else ""
        flags.append(f"--operator-version {entry.operator_version}{app}")
    return listed(flags)


def _failure(name: str, text: str) -> InvalidInput:
    return InvalidInput([Problem("PackageNotFound", f"getting {name} in index file: {text}")])
