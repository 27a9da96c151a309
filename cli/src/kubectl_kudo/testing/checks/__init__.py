"""Checks a suite against the cluster before anything runs."""
