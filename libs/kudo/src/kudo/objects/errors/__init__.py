"""Errors of the API server: whether they are final, what to do, and what can be repaired."""
