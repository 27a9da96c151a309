"""Fixtures that all tests can ask for; nothing starts before a test asks."""

from hypothesis import settings

pytest_plugins = ["kudo_cluster.pytest_plugin"]

# How long an example takes depends on the machine, and nothing here judges it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
