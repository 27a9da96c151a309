"""Instances and OperatorVersions: cached reads, conditional writes, and parameter values."""
