"""Runs of plans: which one a change needs, and what the status of an Instance records."""
