"""The KUDO domain: API objects, packages, parameters, plans, admission rules and rendering.

Everything here is pure: no network, no clock and no randomness that is not passed in. Services and
the command line read, decide by calling this package, and write.
"""
