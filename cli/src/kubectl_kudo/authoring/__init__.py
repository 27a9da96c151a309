"""Commands for the authors of packages: create, list, render, docs, new, add."""
