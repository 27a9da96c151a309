"""Limits of what a suite may hold. Suites come with packages of others."""

from dataclasses import dataclass, field
from typing import Final

import goyaml


@dataclass(frozen=True, slots=True)
class SuiteLimits:
    """How much a suite may hold.

    Attributes:
        cases: Cases in all test directories together.
        entries: Entries of one folder.
        file_size: Bytes of one file; the largest CRDs have about 1 MiB.
        total_size: Bytes of all files that are read.
        documents: YAML documents of one file.
        items: Items of one list of the harness's own kinds, such as commands.
        text: Characters of one text of the harness's own kinds, such as a script.
        yaml: Of one file, and of what a template renders.
    """

    cases: int = 1_000
    entries: int = 2_000
    file_size: int = 4 * 1024 * 1024
    total_size: int = 64 * 1024 * 1024
    documents: int = 500
    items: int = 500
    text: int = 64 * 1024
    yaml: goyaml.Limits = field(
        default_factory=lambda: goyaml.Limits(size=4 * 1024 * 1024, depth=60)
    )


DEFAULT_LIMITS: Final = SuiteLimits()
