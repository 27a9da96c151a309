"""The error of this package."""


class ComposeError(Exception):
    """Something is missing, or did not happen; the text says what, and what to do."""
