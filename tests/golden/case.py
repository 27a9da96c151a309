"""What a golden case is: a template, its data, and where our answer differs on purpose.

A module below `tests/golden/cases` is a family; its `CASES` are texts (rendered with `STANDARD`) or
`Case` values:

    CASES = [
        "{{ upper .s }}",
        Case("{{ .a | int64 }}", data={"a": "7"}),
        Case("{{ base .s }}", policy="sprig"),
        Case("{{ until (add 1 2) }}", ours="[0 1 2]", why="an int64 counts as an int"),
    ]

`python -m tests.golden.generate FAMILY` asks real Go and writes `tests/golden/answers/FAMILY.json`,
which is what the unit tests read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Json = Any

VARIABLES: Final[Mapping[str, str]] = {"GOLDEN_VARIABLE": "golden"}  # what `env` sees, and Go too

STANDARD: Final[Mapping[str, Json]] = {
    "s": "text",
    "empty": "",
    "uni": "größe ☃ 日本",
    "nl": "a\nb\n",
    "i": 7,
    "neg": -3,
    "zero": 0,
    "big": 9007199254740993,
    "max": 9223372036854775807,
    "min": -9223372036854775808,
    "f": 1.5,
    "million": 1000000.0,
    "tiny": 1e-05,
    "t": True,
    "fa": False,
    "nil": None,
    "l": ["a", "b", "c"],
    "nums": [3, 1, 2],
    "mixed": ["a", 1, 2.5, True, None, ["x"], {"k": "v"}],
    "none": [],
    "m": {"b": 2, "a": 1, "c": {"d": "deep"}},
    "nomap": {},
    "Params": {"NODE_COUNT": "3", "PORT": "8080", "EMPTY": "", "NAME": "db", "FLAG": "false"},
    "Name": "instance",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A template and what it is rendered with.

    Attributes:
        text: the template; its name is that of the family.
        data: the data, instead of `STANDARD`. An integral number is an int, one with a point a
            float64.
        over: keys that replace those of `STANDARD`.
        missing_key: Go's option.
        policy: "sprig" has the functions that reach the machine (`base`, `env` and so on).
        ours: what our engine renders where it differs from Go on purpose.
        ours_error: its error, in the same case.
        why: the reason of the difference.
    """

    text: str
    data: Mapping[str, Json] | None = None
    over: Mapping[str, Json] | None = None
    missing_key: Literal["error", "zero", "default"] = "error"
    policy: Literal["operator", "sprig"] = "operator"
    ours: str | None = None
    ours_error: str | None = None
    why: str = ""

    @property
    def values(self) -> Mapping[str, Json]:
        """The data the template sees."""
        if self.data is not None:
            return self.data
        return {**STANDARD, **(self.over or {})}

    @property
    def difference(self) -> dict[str, Json]:
        """Our own answer and its reason as the answers file has them; empty when there is none."""
        if self.ours is None and self.ours_error is None:
            return {}
        answer = {"output": self.ours} if self.ours is not None else {"error": self.ours_error}
        return {"ours": answer, "why": self.why}
