"""An assert that did not hold when its time was up."""

from dataclasses import dataclass

from kubeio.resource import Resource
from kudo_harness.matching import Match
from kudo_harness.suite import Document


@dataclass(frozen=True, slots=True)
class FailedAssert:
    """An assert that failed, or an object that must not match and does.

    Attributes:
        document: The assert.
        match: The object that fits best, from the last round; None if nothing was compared.
        forbidden: Whether the document must not match.
        error: Why the objects could not be read or compared; empty if they were.
        resource: Where objects of its kind are served; None asks discovery.
    """

    document: Document
    match: Match | None = None
    forbidden: bool = False
    error: str = ""
    resource: Resource | None = None
