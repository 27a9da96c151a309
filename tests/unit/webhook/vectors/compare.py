"""Hold answers against recorded decisions and the list of intended differences."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.unit.webhook.vectors.exceptions import DEPARTURES, Departure
from tests.unit.webhook.vectors.recorded import Outcome, Vector


@dataclass
class Comparison:
    """How many rows came out in which way.

    Attributes:
        equal: Rows with the outcome of the original.
        departed: Rows that differ as a departure says, by its code.
        faults: Rows that nothing explains, and departures that explain what needs none; one text
            each.
    """

    equal: int = 0
    departed: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        by_code = ", ".join(f"{code} {count}" for code, count in sorted(self.departed.items()))
        total = self.equal + self.departed.total()
        return (
            f"recorded decisions: {total} rows, {self.equal} equal, "
            f"{self.departed.total()} different by exception ({by_code}), "
            f"{len(self.faults)} unexplained"
        )


def compare(
    outcomes: Iterable[tuple[Vector, Outcome]], departures: Sequence[Departure] = DEPARTURES
) -> Comparison:
    """Return how the outcomes stand against what was recorded."""
    found = Comparison()
    for vector, outcome in outcomes:
        applying = [departure for departure in departures if departure.applies(vector)]
        codes = [departure.code for departure in applying]
        if outcome == vector.recorded:
            found.equal += not codes
            found.faults += [f"{vector.name}: equal, yet {code} applies" for code in codes]
        elif len(applying) == 1 and applying[0].outcome(vector) == outcome:
            found.departed[codes[0]] += 1
        else:
            text = f"{vector.name}: {outcome} instead of {vector.recorded}; departures: {codes}"
            found.faults.append(text)
    unused = [d.code for d in departures if not found.departed[d.code]]
    found.faults += [f"{code} explains no row" for code in unused]
    return found
