"""Runs of plans: the plan that a change needs, and the record in the status of an Instance."""
