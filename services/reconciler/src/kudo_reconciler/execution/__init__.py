"""Execution of a plan: its steps, and in `tasks` one module for each kind of task."""
