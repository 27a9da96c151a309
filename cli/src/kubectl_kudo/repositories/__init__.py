"""Repositories of packages: their settings and indexes, and downloads from them."""
