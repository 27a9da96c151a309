"""Builds an index from the packages of a folder, and merges it with another one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import quote

from kudo.packages.repositories.index import Identity, Index, IndexEntry, Maintainer, with_entries
from kudo.packages.repositories.versions import newest_first


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A `.tgz` file, and what the `operator.yaml` in it says.

    Attributes:
        file: Name of the file.
        digest: SHA-256 of the file in hexadecimal.
    """

    file: str
    digest: str
    name: str
    operator_version: str
    app_version: str = ""
    description: str = ""
    maintainers: tuple[Maintainer, ...] = ()

    def entry(self, base: str) -> IndexEntry:
        """Return the entry of this file below a URL.

        The URL ends with the name that the file has. KUDO 0.19 wrote the name that it should have,
        so that packages under other names could not be downloaded.
        """
        return IndexEntry(
            name=self.name,
            operator_version=self.operator_version,
            app_version=self.app_version,
            description=self.description,
            maintainers=self.maintainers,
            urls=(f"{base.rstrip('/')}/{quote(self.file)}",),
            digest=self.digest,
        )


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A file with a package that another file has already; it is left out.

    Attributes:
        file: Name of the file.
        first: Name of the file that is in the index.
    """

    file: str
    first: str
    identity: Identity


def build(
    packages: Iterable[PackageFile], base: str, generated: str
) -> tuple[Index, list[Duplicate]]:
    """Return the index of packages; of files with the same versions the first one counts.

    Args:
        packages: The files.
        base: URL of the folder that the files will be in.
        generated: The time, in RFC 3339.
    """
    first: dict[Identity, PackageFile] = {}
    duplicates = []
    for package in packages:
        identity = Identity(package.name, package.app_version, package.operator_version)
        counted = first.setdefault(identity, package)
        if counted is not package:
            duplicates.append(Duplicate(package.file, counted.file, identity))
    entries = newest_first(package.entry(base) for package in first.values())
    return Index(with_entries(Index({}), entries), generated), duplicates


def merge(index: Index, other: Index) -> Index:
    """Return an index with the versions of another one that it does not have.

    Entries of both stay as they are, with their URLs and unknown fields.
    """
    identities = {entry.identity for entry in index.all()}
    more = [entry for entry in other.all() if entry.identity not in identities]
    entries = {name: tuple(newest_first(each)) for name, each in with_entries(index, more).items()}
    return replace(index, entries=entries, others={**other.others, **index.others})
