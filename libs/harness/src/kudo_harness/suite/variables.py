"""Replaces `$VAR` and `${VAR}` in texts, as Go's `os.Expand` does."""

import re
from collections.abc import Mapping
from typing import Final

_VARIABLE: Final = re.compile(
    r"""
    \$(?:
        \{(?P<special>[*\#$@!?0-9-])\}
      | \{(?P<braced>[^}]+)\}
      | (?P<nothing>\{\}?)
      | (?P<single>[*\#$@!?0-9-])
      | (?P<name>[A-Za-z0-9_]+)
    )
    """,
    re.VERBOSE,
)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with variables replaced; `$$` is a dollar sign, an unknown variable nothing."""

    def value(match: re.Match[str]) -> str:
        if match["nothing"]:
            return ""
        name = match["special"] or match["braced"] or match["single"] or match["name"]
        return "$" if name == "$" else variables.get(name, "")

    return _VARIABLE.sub(value, text)
