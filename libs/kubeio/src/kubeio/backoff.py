"""Exponential backoff with full jitter.

A delay is drawn uniformly between zero and a ceiling, which grows by ``factor`` up to ``cap``. A
Retry-After of the server is a lower bound (``errors.LONGEST_RETRY_AFTER`` at most). Jitter is added
to it, since otherwise all clients that were sent the same value would return together.
"""

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """The delays between the attempts of one retry loop, in seconds."""

    base: float = 0.5
    cap: float = 60.0
    factor: float = 2.0
    rng: random.Random = field(default_factory=random.Random)
    attempts: int = 0

    def next(self, retry_after: float | None = None) -> float:
        """Return the next delay in seconds, never below ``retry_after``."""
        delay = self.rng.uniform(0.0, self.ceiling)
        self.attempts += 1
        return delay if retry_after is None else retry_after + delay

    @property
    def ceiling(self) -> float:
        """Return the largest delay that the next call can give (before Retry-After)."""
        # Bounded exponent: a retry loop that runs for weeks must not overflow a float.
        return min(self.cap, self.base * self.factor ** min(self.attempts, 64))

    def reset(self) -> None:
        """Start over at ``base``, after a success."""
        self.attempts = 0
