"""JSONPath templates as kubectl has them: parsing, evaluating, and the text that they print.

Imports nothing of the rest of the command line.
"""
