"""The names that the API server accepts for most objects: DNS-1123 subdomains."""

import re
from typing import Final

MAX_SUBDOMAIN: Final = 253
"""Characters of a DNS-1123 subdomain."""
MAX_LABEL: Final = 63
"""Characters of a DNS-1123 label, and of the value of a Kubernetes label."""

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def is_subdomain(text: str) -> bool:
    """Return whether a text is a DNS-1123 subdomain, so that an object can have it as its name.

    It is one or more labels of lower-case letters, digits and hyphens, with a letter or a digit at
    both ends, and dots between them; as in the API server only the whole has a greatest length.
    """
    # The length comes first: it bounds how long the expression can take.
    return len(text) <= MAX_SUBDOMAIN and _SUBDOMAIN.fullmatch(text) is not None
