"""One package in an index: a name, its versions, and where its `.tgz` file is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


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
class Entry:
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
