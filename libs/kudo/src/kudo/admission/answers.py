"""Answers to AdmissionReviews: a decision, or the error that prevented one."""

from dataclasses import dataclass
from typing import Literal

import orjson

from kudo.admission.review import Decision
from kudo.api.problems import InvalidInput, Problem

Outcome = Literal["allowed", "denied", "limited", "error"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a review.

    Attributes:
        problems: Why it is denied, the deciding problem first; empty if it is allowed.
        warnings: Shown to the client although the request is allowed.
        patch: JSON Patch as JSON; empty if nothing is to change.
        code: HTTP status of the denial.
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: bytes = b""
    code: int = 403

    @property
    def allowed(self) -> bool:
        return not self.problems

    @property
    def reason(self) -> str:
        return self.problems[0].reason if self.problems else ""

    @property
    def limit(self) -> str:
        """Name of the limit that decided, or an empty string."""
        return self.problems[0].limit if self.problems else ""

    @property
    def outcome(self) -> Outcome:
        """Label of the metric: `error` is our fault, `limited` means the request is too large."""
        if self.allowed:
            return "allowed"
        if self.limit:
            return "limited"
        return "denied" if self.code < 500 else "error"


ALLOWED = Answer()


def decided(decision: Decision) -> Answer:
    """Return the answer for a decision."""
    if decision.problems:
        return Answer(decision.problems, code=413 if decision.problems[0].limit else 403)
    patch = orjson.dumps(decision.patch) if decision.patch else b""
    return Answer(warnings=decision.warnings, patch=patch)


def unreadable(error: InvalidInput) -> Answer:
    """Return the answer to objects that cannot be read."""
    return Answer(error.problems, code=400)


def failed(code: int, reason: str, message: str, *, limit: str = "") -> Answer:
    """Return a denial without a decision."""
    return Answer((Problem(reason, message, limit=limit),), code=code)
