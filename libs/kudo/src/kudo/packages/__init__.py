"""Operator packages: reading them from a folder or an archive, and the objects made of them.

    folder or .tgz -> files -> Package (what its author wrote) -> objects of the API
                                  -> Resolution (with the packages that it depends on)

A package comes from strangers, so reading is bounded (`PackageLimits`), follows no links and never
leaves the package. Everything that is wrong with one is `kudo.problems.InvalidInput`, which names
file, field and reason.

Tasks and plans are those of the API models, read with Go's leniency by `packages.shapes`.
"""

from kudo.packages.convert import PackageObjects, to_objects
from kudo.packages.files import PackageFiles, PackageLimits
from kudo.packages.location import Located, locate, locate_in_archive
from kudo.packages.model import OperatorFile, Package, PackageParameter, ParameterGroup
from kudo.packages.reader import open_package, parse_package, read_package
from kudo.packages.resolution import (
    DependencyLimits,
    Lookup,
    Requirement,
    Resolution,
    Stored,
    check_installed,
    depends,
    depends_by_name,
    resolve,
)

__all__ = [
    "DependencyLimits",
    "Located",
    "Lookup",
    "OperatorFile",
    "Package",
    "PackageFiles",
    "PackageLimits",
    "PackageObjects",
    "PackageParameter",
    "ParameterGroup",
    "Requirement",
    "Resolution",
    "Stored",
    "check_installed",
    "depends",
    "depends_by_name",
    "locate",
    "locate_in_archive",
    "open_package",
    "parse_package",
    "read_package",
    "resolve",
    "to_objects",
]
