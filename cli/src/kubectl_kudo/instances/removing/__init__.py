"""Deletes Instances, and Operators and OperatorVersions that none uses."""
