"""Answers of the API server to objects: lists and watches, item by item, and their checks."""
