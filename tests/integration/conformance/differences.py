"""Where the API server in memory answers otherwise on purpose, and why.

Each entry names a script, a call, and a path into what was recorded; that part is not compared.
"""

from typing import NamedTuple


class Difference(NamedTuple):
    """A part of an answer that is not compared."""

    script: str
    call: str
    path: str
    reason: str


_WORDING = "nobody reads the text: status and reason say what is wrong"
_MESSAGE = "refused.message"

DIFFERENCES: tuple[Difference, ...] = (
    *(
        Difference("what_cannot_be_created_is_refused", call, _MESSAGE, _WORDING)
        for call in ("another kind", "another version", "no kind")
    ),
    Difference("lists_are_selected_and_paged", "by nonsense", _MESSAGE, _WORDING),
)
