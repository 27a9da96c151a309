"""Writes test cases for packages."""
