"""The faults of steps: how they are caused, and undone."""
