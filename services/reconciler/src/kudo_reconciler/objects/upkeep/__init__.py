"""Deletes orphans, and records what belongs to Instances without a record."""
