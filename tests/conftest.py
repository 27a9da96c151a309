"""Fixtures that all tests can ask for; nothing starts before a test asks."""

pytest_plugins = ["kudo_cluster.pytest_plugin"]
