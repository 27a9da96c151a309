"""Which names the API server takes for objects, so that a wrong one is told before it is sent."""

import re

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_NAME = 253
LONGEST_LABEL = 63
"""Length of a label's value; names of operators and instances become labels."""


def name_fault(what: str, name: str, longest: int = LONGEST_NAME) -> str:
    """Return what is wrong with a name (DNS-1123 subdomain), or an empty text."""
    if len(name) > longest:
        return f'the {what} name "{name}" has {len(name)} characters; {longest} are allowed'
    if not _SUBDOMAIN.fullmatch(name):
        return (
            f'the {what} name "{name}" is not possible: use lower-case letters, digits, "-" and '
            '".", with a letter or digit at both ends'
        )
    return ""
