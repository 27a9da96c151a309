"""What slow and failing steps cost others, against the figures to reach."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from tests.bench.figures import Figure
from tests.faults.steps import Beside, Found

_MAX_SECONDS: Final = 1.0
_MAX_RATIO: Final = 1.2
_NOISE: Final = 0.020
"""What the worker time of the same deploys differs by without any fault."""


def figures(found: Found) -> Iterator[Figure]:
    """Yield a figure for everything that was measured."""
    yield _delay("sibling of a failing step: delay of its next step", found.sibling)
    yield _delay("cancel to terminal status, a copy hangs", found.copy)
    yield _delay("cancel to terminal status, a render in flight", found.render)
    yield _delay("cancel to terminal status, a slow LIST in flight", found.listing)
    where = "of a kind whose LIST fails"
    yield _ratio(f"deploy beside 16 Instances {where}, in their namespace", found.together)
    yield _ratio(f"deploy beside 16 Instances {where}, in 16 namespaces", found.apart)
    usual, throttled = (min(c.seconds for c in one) for one in (found.usual, found.throttled))
    yield Figure(
        "steps: worker time for each deploy where events are refused with 429",
        "none more",
        f"{(throttled - usual) * 1e3:+.0f} ms over {usual * 1e3:.0f} ms",
        throttled - usual <= _NOISE,
    )
    reconciles = max(cost.reconciles for cost in found.usual)
    yield Figure(
        "steps: reconciles for a deploy of one ConfigMap", "1", f"{reconciles:.2f}", reconciles <= 1
    )


def _delay(what: str, seconds: Sequence[float]) -> Figure:
    worst = max(seconds)
    measured = f"{worst:.2f} s (of {', '.join(f'{one:.2f}' for one in seconds)})"
    return Figure(f"steps: {what}", f"<= {_MAX_SECONDS:g} s", measured, worst <= _MAX_SECONDS)


def _ratio(what: str, found: Beside) -> Figure:
    alone, beside = statistics.median(found.alone), statistics.median(found.beside)
    measured = (
        f"{beside / alone:.2f} x ({beside:.3f} s, at most {max(found.beside):.3f}; "
        f"alone {alone:.3f} s, at most {max(found.alone):.3f})"
    )
    ok = beside <= _MAX_RATIO * alone
    return Figure(f"steps: {what}", f"<= {_MAX_RATIO} x alone", measured, ok)
