"""Golden manifests: what a package renders for given parameters, kept in files beside it.

`golden/<name>/` in the folder of a package has one file for each step, and `params.yaml` with the
parameters, if they are not the defaults.
"""
