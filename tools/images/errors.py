"""What can go wrong while images and the single file of the CLI are made."""


class DeliveryError(Exception):
    """A step failed; the message says what happened and what to do, to be printed as it stands."""
