"""Sprig's functions on keys, certificates and passwords."""
