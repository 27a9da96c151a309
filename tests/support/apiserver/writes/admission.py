"""The seam at which admission webhooks judge what is written."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from kubeio.types import JsonObject
from tests.support.apiserver.types.kinds import Kind


@dataclass(frozen=True, slots=True)
class Review:
    """A write that is to be judged.

    Attributes:
        old: What is stored; None when the object is created.
        warnings: Filled by who judges; the client is told.
    """

    operation: Literal["CREATE", "UPDATE"]
    kind: Kind
    obj: JsonObject
    old: JsonObject | None
    user: str
    subresource: str = ""
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)


class Admission(Protocol):
    """Judges writes; refuses one by raising a StatusError."""

    def mutate(self, review: Review) -> JsonObject:
        """Return the object, changed or as it is."""
        ...

    def validate(self, review: Review) -> None: ...


class AllowAll:
    """Admission without webhooks."""

    def mutate(self, review: Review) -> JsonObject:
        return review.obj

    def validate(self, review: Review) -> None:
        del review
