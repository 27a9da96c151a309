"""Reads and writes YAML as go-yaml v2.3.0 does, restricted to what JSON can express.

`load` and `load_all` read the dialect in which packages, parameters and rendered templates are
written; `dump` writes the bytes that `toYaml` and dependency hashes are made of. Values are plain
Python: dict with string keys, list, str, int, float, bool, None.

Every call counts what it does against `Limits`: `DEFAULT_LIMITS` bound memory, `INLINE` is what an
event loop can afford. A `Budget` bounds several calls together.
"""

from typing import TYPE_CHECKING

from goyaml.limits import DEFAULT_LIMITS, INLINE, Budget, DumpError, Limits
from goyaml.loader import SecondDocument, YamlError, load, load_all
from goyaml.scalars import SpelledFloat, format_float, is_plain_string, parse_float
from goyaml.text import NotTextError, decode, json_documents

if TYPE_CHECKING:
    from goyaml.writer import dump

__all__ = [
    "DEFAULT_LIMITS",
    "INLINE",
    "Budget",
    "DumpError",
    "Limits",
    "NotTextError",
    "SecondDocument",
    "SpelledFloat",
    "YamlError",
    "decode",
    "dump",
    "format_float",
    "is_plain_string",
    "json_documents",
    "load",
    "load_all",
    "parse_float",
]


def __getattr__(name: str) -> object:
    """Import the writer, which most programs that read YAML do not need.

    Raises:
        AttributeError: there is no such name.
    """
    if name == "dump":
        from goyaml.writer import dump

        return dump
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
