"""Checks of what templates render to with the defaults of the package."""
