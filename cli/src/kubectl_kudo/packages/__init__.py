"""Checks packages, and creates their Operators and OperatorVersions."""
