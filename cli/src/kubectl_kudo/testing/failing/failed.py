"""An assert that did not hold when its time was up."""

from dataclasses import dataclass
from typing import Final

from kubeio.resource import Resource
from kudo_harness.matching import Match
from kudo_harness.matching.subset import total_weight
from kudo_harness.suite import Document

_ABSENT: Final = 1_000_000
_UNREADABLE: Final = 2_000_000


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

    @property
    def weight(self) -> int:
        """How far it is from holding, to tell the nearest first; an absent object is far away."""
        if self.error:
            return _UNREADABLE
        if self.match is None or self.match.candidate is None:
            return _ABSENT
        return total_weight(self.match.differences)

    @property
    def kind(self) -> str:
        return str(self.document.value.get("kind") or "object")

    @property
    def name(self) -> str:
        """Name of the object that is meant; empty if labels, or nothing, say which."""
        return str(self._metadata.get("name") or "")

    @property
    def labels(self) -> dict[str, str]:
        found = self._metadata.get("labels")
        return {str(key): str(one) for key, one in found.items()} if isinstance(found, dict) else {}

    def namespace(self, of_case: str) -> str:
        """Return the namespace in which the object is looked for."""
        return str(self._metadata.get("namespace") or of_case)

    @property
    def _metadata(self) -> dict[str, object]:
        found = self.document.value.get("metadata")
        return found if isinstance(found, dict) else {}
