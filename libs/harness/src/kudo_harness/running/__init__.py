"""Runs suites: cases, steps, commands and asserts on a cluster, and deletes what a run made."""
