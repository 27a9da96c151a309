"""What the command line says to the benches."""

from dataclasses import dataclass, field

from tests.bench.measure.profiling import Profiles

USUAL = 500
"""Instances of the workload that `--instances` is told for; others follow in proportion."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure.

    Attributes:
        rounds: How often each subject is measured.
        instances: How many Instances stand for the usual 500; fewer to try a bench out.
        profiles: Where profiles go.
    """

    rounds: int
    instances: int = USUAL
    profiles: Profiles = field(default_factory=Profiles)

    def count(self, usual: int) -> int:
        """Return how many there are where a figure speaks of `usual`."""
        return max(1, usual * self.instances // USUAL)
