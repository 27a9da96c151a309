"""Exponential backoff with jitter.

A delay is drawn uniformly below a ceiling, which grows by ``factor`` up to ``cap``. A Retry-After
of the server is a lower bound (``errors.LONGEST_RETRY_AFTER`` at most). Jitter is added to it,
since otherwise all clients that were sent the same value would return together.
"""

import random
from dataclasses import dataclass, field

from kubeio.errors import ApiError


@dataclass(slots=True)
class Backoff:
    """The delays between the attempts of one retry loop, in seconds.

    Attributes:
        base: the first ceiling.
        cap: the highest ceiling.
        factor: by which the ceiling grows with each attempt.
        least: share of the ceiling that a delay has at least.
        rng: source of jitter.
        attempts: how many delays were drawn.
    """

    base: float = 0.5
    cap: float = 60.0
    factor: float = 2.0
    least: float = 0.0
    rng: random.Random = field(default_factory=random.Random)
    attempts: int = 0

    def next(self, error: Exception | None = None) -> float:
        """Return the next delay in seconds, never below the Retry-After of ``error``."""
        delay = self.rng.uniform(self.least, 1.0) * self.ceiling
        self.attempts += 1
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        return delay + (retry_after or 0.0)

    @property
    def ceiling(self) -> float:
        """Return the largest delay that the next call can give (before Retry-After)."""
        # Bounded exponent: a retry loop that runs for weeks must not overflow a float.
        return min(self.cap, self.base * self.factor ** min(self.attempts, 64))

    def reset(self) -> None:
        """Start over at ``base``, after a success."""
        self.attempts = 0
