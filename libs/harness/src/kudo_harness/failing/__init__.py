"""Tells why an assert failed, in plain words."""
