"""Errors of building images and the single file of the CLI."""


class DeliveryError(Exception):
    """A step failed; the message, which is printed unchanged, says what happened and what to do."""
