"""Processes that end with the process that started them, and the namespaces of a node."""
