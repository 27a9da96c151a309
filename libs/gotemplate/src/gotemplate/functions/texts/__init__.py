"""Sprig's functions on texts: parts, case, patterns, URLs and encodings."""
