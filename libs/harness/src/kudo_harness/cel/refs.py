"""Checks the names that an assert gives to the objects of its expressions."""

import re
from collections.abc import Sequence
from typing import Final

from kudo.api.problems import shown_name
from kudo_harness.findings import Findings
from kudo_harness.suite import ResourceRef

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset(
    {
        *("false", "in", "null", "true", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while", "bool", "bytes", "double", "dyn", "int", "list", "map"),
        *("null_type", "string", "type", "uint"),
    }
)
"""Words that CEL keeps for itself, and names of its types."""


def check_refs(refs: Sequence[ResourceRef], findings: Findings) -> None:
    """Note names that no expression could use, and those that are given twice."""
    seen: dict[str, ResourceRef] = {}
    for one in refs:
        name = shown_name(one.ref)
        if not _IDENTIFIER.fullmatch(one.ref) or one.ref in _RESERVED:
            message = (
                f"no expression can use {name!r} as a name; write letters, digits and _, and no "
                "word of CEL"
            )
            findings.error("InvalidRef", message, one.place)
        elif one.ref in seen:
            message = f"{name} is the ref of two objects, first in {seen[one.ref].place}"
            findings.error("InvalidRef", message, one.place)
        seen.setdefault(one.ref, one)


def usable(name: str) -> bool:
    """Return whether an expression can use a name."""
    return bool(_IDENTIFIER.fullmatch(name)) and name not in _RESERVED
