"""Execution of a plan: its steps, and one module for each kind of task."""
