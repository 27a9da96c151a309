"""Operator packages: reading them from a folder or an archive, and the objects made of them.

    folder or .tgz -> files -> Package (what its author wrote) -> objects of the API
                                  -> Resolution (with the packages that it depends on)

A package comes from strangers, so reading is bounded (`PackageLimits`), follows no links and never
leaves the package. Everything that is wrong with one is `kudo.api.problems.InvalidInput`, which
names file, field and reason.

Tasks and plans are those of the API models, read with Go's leniency by `packages.fields`.
"""
