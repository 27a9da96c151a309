"""Packages: the command that checks them, and their way into the cluster."""
