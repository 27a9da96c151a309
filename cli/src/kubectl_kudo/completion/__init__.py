"""Completion of command lines: what the words on one are names of, and which names there are."""
