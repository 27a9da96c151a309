"""Repositories of packages: their index, the order of versions, and the list of repositories.

    index.yaml -> Index -> Entry, chosen by name and versions -> URLs and digest of a .tgz file
    files of a folder -> building -> Index -> index.yaml

Nothing is downloaded here. An index comes from strangers, so reading it is bounded, and everything
that is wrong with it is `kudo.api.problems.InvalidInput`.
"""
