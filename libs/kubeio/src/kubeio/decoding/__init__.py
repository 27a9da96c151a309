"""Decoders of lists and watches, object by object, and validation of their metadata."""
