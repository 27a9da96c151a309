"""Warning headers of the API server: deprecations, ignored fields, admission warnings.

A text that was passed on is not passed on again while it is among the last 1000: an object that is
applied a thousand times would repeat it a thousand times.
"""

import logging
import re
from collections.abc import Callable, Iterable

log = logging.getLogger(__name__)

_REMEMBERED = 1000
_WARNING = re.compile(r'(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class WarningSink:
    """Parses and deduplicates warnings and passes them to ``handler``; None drops them."""

    def __init__(self) -> None:
        self.handler: Callable[[str], None] | None = None
        self._seen: dict[str, None] = {}

    def collect(self, headers: Iterable[str]) -> None:
        """Pass each new text to the handler."""
        for header in headers:
            for text in parse_warnings(header):
                if self.handler is not None and self._is_new(text):
                    self.handler(text)

    def _is_new(self, text: str) -> bool:
        if text in self._seen:
            return False
        if len(self._seen) >= _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[text] = None
        return True


def parse_warnings(header: str) -> list[str]:
    """Return the texts with code 299 of one Warning header (RFC 7234 §5.5)."""
    return [
        _ESCAPED.sub(r"\1", quoted) for code, _, quoted in _WARNING.findall(header) if code == "299"
    ]
