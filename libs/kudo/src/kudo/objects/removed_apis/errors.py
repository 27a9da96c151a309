"""Errors of objects that cannot be converted.

KudoError
|-- NoSuccessor     for callers: what was removed, when, and what to change
`-- NotMechanical   for conversions: what the author has to decide
"""

from kudo.api.problems import KudoError


class NoSuccessor(KudoError):
    """An object is in a version that is no longer served and has no mechanical successor."""

    def __init__(self, api_version: str, kind: str, release: str, advice: str) -> None:
        super().__init__(f"{api_version} {kind} was removed in Kubernetes {release}: {advice}")


class NotMechanical(KudoError):
    """A conversion lacks something that only the author of the object knows.

    The text goes on after "was removed in Kubernetes 1.22:".
    """
