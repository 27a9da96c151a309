"""Brings Instances to another version, or another content of their version."""
