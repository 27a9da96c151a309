"""Commands as processes, and their output."""
