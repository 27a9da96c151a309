"""Sprig's arithmetic and random numbers."""
