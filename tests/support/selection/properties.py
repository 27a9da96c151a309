"""How many examples a property runs: few in every test run, many in `make properties`.

The few are the same in every run, so that a change fails for what it changed. The many differ from
run to run.
"""

import os

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
"""Whether this run is `make properties`."""


def examples(few: int, *, deep: int) -> int:
    """Return how many examples a property runs where the usual number does not fit it."""
    return deep if DEEP else few
