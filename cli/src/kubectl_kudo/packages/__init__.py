"""Packages on a cluster: finding, checking, and creating their Operators and OperatorVersions."""
