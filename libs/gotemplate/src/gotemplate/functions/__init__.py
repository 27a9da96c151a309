"""The functions of templates, by family, and the policies that choose among them.

Policy "sprig" has every name; "operator" is what operators may use: nothing that reaches the
environment, the file system or the network of the service that renders.
"""

from collections.abc import Mapping
from typing import Final, Literal

from gotemplate.functions import (
    builtins,
    comparisons,
    defaults,
    encoding,
    lists,
    numbers,
    strings,
    yaml,
)
from gotemplate.functions.signature import Function, from_callable

__all__ = ["Function", "Policy", "from_callable", "table"]

Policy = Literal["operator", "sprig"]

_FAMILIES: Final = (
    builtins.FUNCTIONS,
    comparisons.FUNCTIONS,
    defaults.FUNCTIONS,
    encoding.FUNCTIONS,
    lists.FUNCTIONS,
    numbers.FUNCTIONS,
    strings.FUNCTIONS,
    yaml.FUNCTIONS,
)

# Names the operator policy takes away. They need not exist yet.
_OUTSIDE: Final = frozenset(
    {
        "env",
        "expandenv",
        "base",
        "dir",
        "clean",
        "ext",
        "isAbs",
        "osBase",
        "osClean",
        "osDir",
        "osExt",
        "osIsAbs",
        "getHostByName",
    }
)


def table(policy: Policy) -> Mapping[str, Function]:
    """Give the functions of a policy by name."""
    found = {function.name: function for family in _FAMILIES for function in family}
    if policy == "operator":
        return {name: function for name, function in found.items() if name not in _OUTSIDE}
    return found
