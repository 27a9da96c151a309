"""What expressions in CEL can use, by name. `kudo.jobs` evaluates them."""

from typing import Final, NamedTuple

COMMON: Final = ("instance", "outputs", "params", "runParams")
"""What every expression of a package can use. `kudo.jobs.inputs.Inputs` has their values."""


class Scope(NamedTuple):
    """What an expression can use.

    Attributes:
        names: The names.
        hint: Which these are, in words, for an expression that uses another one.
    """

    names: tuple[str, ...]
    hint: str


CONDITION: Final = Scope(COMMON, "a condition can use params, runParams, instance and outputs")
CHECK_OF_ONE: Final = Scope(
    ("self", "objects", *COMMON),
    "a check can use self, objects, params, runParams, instance and outputs",
)
CHECK_OF_SEVERAL: Final = Scope(
    ("objects", *COMMON),
    "a check with a selector can use objects, params, runParams, instance and outputs",
)
