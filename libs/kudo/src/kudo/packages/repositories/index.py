"""The index of a repository, `index.yaml` in the format of KUDO 0.19.

    apiVersion: v1
    entries:
      kafka:
      - {name: kafka, operatorVersion: 1.3.3, appVersion: 2.5.1, urls: [...], digest: ...}
    generated: "2021-07-02T10:00:00Z"

As in Go, keys match whatever their case. Fields that KUDO does not know are kept.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from goyaml import YamlError, dump, load
from kudo.api.problems import InvalidInput, Problem, shown, shown_name

INDEX_FILE: Final = "index.yaml"
MAX_INDEX: Final = 8 * 1024 * 1024
"""Bytes of an index; 1,000 packages take about half a megabyte."""

_API_VERSION: Final = "v1"
_TOP: Final = ("apiVersion", "entries", "generated")
_ENTRY: Final = (
    *("name", "operatorVersion", "appVersion", "description", "maintainers"),
    *("urls", "digest", "removed", "deprecated"),
)
_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")


class Identity(NamedTuple):
    """What is unique in an index."""

    name: str
    app_version: str
    operator_version: str

    def __str__(self) -> str:
        return "-".join(filter(None, self))


@dataclass(frozen=True, slots=True)
class Maintainer:
    """A maintainer of a package; texts that the index does not give are empty."""

    name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One version of a package. Texts that the index does not give are empty.

    Attributes:
        urls: Where the `.tgz` file is, in the order in which they are tried. A relative one is
            resolved against the URL of the index.
        digest: SHA-256 of the `.tgz` file in hexadecimal.
        removed: Whether the version was withdrawn; it can be seen and not installed.
        deprecated: Whether the version should not be used for new Instances.
        others: Fields that KUDO does not know; they are kept when the index is written.
    """

    name: str
    operator_version: str
    app_version: str = ""
    description: str = ""
    maintainers: tuple[Maintainer, ...] = ()
    urls: tuple[str, ...] = ()
    digest: str = ""
    removed: bool = False
    deprecated: bool = False
    others: Mapping[str, object] = field(default_factory=dict)

    @property
    def identity(self) -> Identity:
        return Identity(self.name, self.app_version, self.operator_version)


@dataclass(frozen=True, slots=True)
class Index:
    """The index of a repository.

    Attributes:
        entries: The versions of each package, by its name, in the order of the file.
        generated: When the index was written, in RFC 3339; empty if unknown.
        api_version: The version of the format.
        others: Fields that KUDO does not know.
        warnings: Why entries were left out.
    """

    entries: Mapping[str, tuple[IndexEntry, ...]]
    generated: str = ""
    api_version: str = _API_VERSION
    others: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def all(self) -> Iterator[IndexEntry]:
        """Yield all versions of all packages."""
        for entries in self.entries.values():
            yield from entries


def folded(values: Mapping[str, object]) -> dict[str, object]:
    """Return a mapping by keys in lower case; of equal ones the last in byte order counts."""
    return {key.casefold(): values[key] for key in sorted(values)}


def unknown(values: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """Return what stands under keys other than `names`."""
    folded_names = {name.casefold() for name in names}
    return {key: value for key, value in values.items() if key.casefold() not in folded_names}


class _Unusable(ValueError):
    """An entry has a field of another type than it should have."""


def read_index(content: bytes) -> Index:
    """Return the index in a file.

    An entry with a field of a wrong type is left out with a warning, so that the other packages of
    the repository can still be installed.

    Raises:
        InvalidInput: the content is no index, is too large, or a package lacks its version.
    """
    # Before it is read: the server of a repository decides how much it sends.
    if len(content) > MAX_INDEX:
        raise _invalid(f"the index is larger than {MAX_INDEX} bytes")
    try:
        document = load(content)
    except YamlError as error:
        text = f"unmarshalling index file: line {error.line}: {shown(error.message, 200)}"
        raise _invalid(text) from error
    document = {} if document is None else document
    if not isinstance(document, dict):
        raise _invalid("unmarshalling index file: it is not a mapping")
    top = folded(document)
    api_version, entries = top.get("apiversion"), top.get("entries")
    if not api_version:
        raise _invalid("validating index file: no API version defined")
    if entries is not None and not isinstance(entries, dict):
        raise _invalid("unmarshalling index file: entries must be a mapping")
    warnings: list[str] = []
    generated = top.get("generated")
    return Index(
        entries={
            name: tuple(_entries(name, values, warnings))
            for name, values in (entries or {}).items()
        },
        generated=generated if isinstance(generated, str) else "",
        api_version=str(api_version),
        others=unknown(document, _TOP),
        warnings=tuple(warnings),
    )


def _entries(name: str, values: object, warnings: list[str]) -> Iterator[IndexEntry]:
    if not isinstance(values, list):
        if values is not None:
            warnings.append(f"entries.{shown_name(name)} is left out: it is not a list")
        return
    for number, value in enumerate(values):
        try:
            yield _entry(name, value)
        except _Unusable as error:
            warnings.append(f"entries.{shown_name(name)}[{number}] is left out: {error}")


def _entry(name: str, value: object) -> IndexEntry:
    if not isinstance(value, dict):
        raise _Unusable("it is not a mapping")
    fields = folded(value)
    version = _text(fields, "operatorVersion")
    # KUDO 0.19 refuses the whole index for it, where a wrong type only costs the entry here.
    if not version:
        raise _invalid(
            f"validating index file: package {shown_name(name)} is missing an operator version"
        )
    app_version, description = _text(fields, "appVersion"), _text(fields, "description")
    maintainers = []
    for maintainer in _list(fields.get("maintainers"), "maintainers"):
        if not isinstance(maintainer, dict):
            raise _Unusable("maintainers must be mappings")
        keys = folded(maintainer)
        maintainers.append(Maintainer(_text(keys, "name"), _text(keys, "email")))
    urls = []
    for url in _list(fields.get("urls"), "urls"):
        if not isinstance(url, str):
            raise _Unusable("urls must be texts")
        urls.append(url)
    digest = _text(fields, "digest")
    match = _DIGEST.fullmatch(digest)
    if digest and match is None:
        raise _Unusable("digest must be the SHA-256 of the package, in 64 hexadecimal digits")
    return IndexEntry(
        # Packages are looked up by the key, so an entry cannot claim to be another package.
        name=name,
        operator_version=version,
        app_version=app_version,
        description=description,
        maintainers=tuple(maintainers),
        urls=tuple(urls),
        digest=match[1].lower() if match else "",
        removed=_flag(fields, "removed"),
        deprecated=_flag(fields, "deprecated"),
        others=unknown(value, _ENTRY),
    )


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name.casefold())
    if value is None or isinstance(value, str):
        return value or ""
    # Without quotes 1.10 is the number 1.1, so a guess could install another version.
    raise _Unusable(f"{name} must be text; write it in quotes")


def _flag(fields: Mapping[str, object], name: str) -> bool:
    value = fields.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _Unusable(f"{name} must be true or false")


def _list(value: object, name: str) -> list[object]:
    if value is None or isinstance(value, list):
        return value or []
    raise _Unusable(f"{name} must be a list")


def write_index(index: Index) -> str:
    """Return the content of `index.yaml`, in the bytes that KUDO 0.19 writes: keys sorted."""
    entries: dict[str, list[object]] = {}
    for name, versions in index.entries.items():
        entries[name] = []
        for entry in versions:
            maintainers = [{"name": each.name, "email": each.email} for each in entry.maintainers]
            values = {
                "name": entry.name,
                "operatorVersion": entry.operator_version,
                "appVersion": entry.app_version,
                "description": entry.description,
                "maintainers": [_without_empty(maintainer) for maintainer in maintainers],
                "digest": entry.digest,
                "removed": entry.removed,
                "deprecated": entry.deprecated,
            }
            urls = {"urls": list(entry.urls)}
            entries[name].append({**entry.others, **_without_empty(values), **urls})
    document: dict[str, object] = {**index.others, "apiVersion": index.api_version}
    document["entries"] = entries
    if index.generated:
        document["generated"] = index.generated
    return dump(document)


def _without_empty(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value}


def with_entries(index: Index, entries: Iterable[IndexEntry]) -> dict[str, tuple[IndexEntry, ...]]:
    """Return the entries of an index with more behind them, grouped by name."""
    grouped = {name: list(each) for name, each in index.entries.items()}
    for entry in entries:
        grouped.setdefault(entry.name, []).append(entry)
    return {name: tuple(each) for name, each in grouped.items()}


def _invalid(text: str) -> InvalidInput:
    return InvalidInput([Problem("IndexInvalid", text)])
