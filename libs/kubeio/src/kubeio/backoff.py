"""How long to wait before trying again: exponential with full jitter.

Full jitter (a uniform draw between zero and the ceiling) spreads a herd of clients best; the
ceiling grows by ``factor`` up to ``cap``. What the server asks for in Retry-After
(``errors.LONGEST_RETRY_AFTER`` at most) is a lower bound, with jitter on top, so that those told
the same number do not return together.
"""

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """The delays of one thing being retried; all values in seconds."""

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
        """Start over: the thing worked."""
        self.attempts = 0
