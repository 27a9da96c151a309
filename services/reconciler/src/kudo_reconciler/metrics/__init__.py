"""Prometheus metrics of the reconciler, and the values of their labels."""
