"""Sprig's functions on lists, maps and types, and on JSON and YAML."""
