"""Runs a suite: setup, cases, steps, commands, and the removal of what was made."""
