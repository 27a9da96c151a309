"""Repositories of packages: their index, the order of versions, and the list of repositories.

    index.yaml -> Index -> Entry, chosen by name and versions -> URLs and digest of a .tgz file
    files of a folder -> building -> Index -> index.yaml

Nothing is downloaded here. An index comes from strangers, so reading it is bounded, and everything
that is wrong with it is `kudo.api.problems.InvalidInput`. `building` is imported by its own name,
since it reads packages: readers of an index would wait for the import of all that.
"""

from kudo.packages.repositories.index import (
    INDEX_FILE,
    MAX_INDEX,
    Index,
    IndexEntry,
    Maintainer,
    read_index,
    write_index,
)
from kudo.packages.repositories.settings import (
    BUILT_IN,
    DEFAULT_SETTINGS,
    Repository,
    Settings,
    read_settings,
    write_settings,
)
from kudo.packages.repositories.versions import choose, is_prerelease, newest_first, search

__all__ = [
    "BUILT_IN",
    "DEFAULT_SETTINGS",
    "INDEX_FILE",
    "MAX_INDEX",
    "Index",
    "IndexEntry",
    "Maintainer",
    "Repository",
    "Settings",
    "choose",
    "is_prerelease",
    "newest_first",
    "read_index",
    "read_settings",
    "search",
    "write_index",
    "write_settings",
]
