"""Supervised processes, which end with their parent, and the namespaces of a real node."""
