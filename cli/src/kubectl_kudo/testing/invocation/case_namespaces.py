"""Chooses the namespaces of cases: `kudo-test-<case>-<4 characters>`."""

import re
import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kubeio.names import MAX_LABEL

PREFIX: Final = "kudo-test"
_RANDOM: Final = 4
_CHARACTERS: Final = string.ascii_lowercase + string.digits
_MOST: Final = MAX_LABEL - len(PREFIX) - _RANDOM - 2
"""Characters of the name of a case that have room."""


def _random() -> str:
    return "".join(secrets.choice(_CHARACTERS) for _ in range(_RANDOM))


@dataclass(slots=True)
class CaseNamespaces:
    """Names the namespaces of a run, each of them once.

    Attributes:
        random: Returns the last characters of a name.
    """

    random: Callable[[], str] = _random
    _chosen: set[str] = field(default_factory=set)

    def __call__(self, case: str) -> str:
        """Return a valid name for the namespace of a case."""
        part = re.sub("[^a-z0-9]+", "-", case.lower()).strip("-")[:_MOST].rstrip("-")
        while True:
            name = "-".join(filter(None, (PREFIX, part, self.random())))
            # Cases of two folders may have the same name.
            if name not in self._chosen:
                self._chosen.add(name)
                return name
