"""The functions of templates, by family, and the policies that choose among them.

Policy "sprig" has every name; "operator" is what operators may use: nothing that reaches the
environment, the file system or the network of the service that renders.
"""

from collections.abc import Mapping
from typing import Final, Literal

from gotemplate.functions import builtins, comparisons, dates, host, semvers
from gotemplate.functions.crypto import certs, passwords
from gotemplate.functions.data import defaults, dicts, documents, lists, merging, reflection, yaml
from gotemplate.functions.numeric import floats, numbers, randoms
from gotemplate.functions.texts import case, encoding, patterns, strings, urls, words
from gotemplate.types.signature import Function, from_callable

__all__ = ["CHANGING", "Function", "Policy", "from_callable", "table"]

Policy = Literal["operator", "sprig"]

_FAMILIES: Final = (
    builtins.FUNCTIONS,
    certs.FUNCTIONS,
    comparisons.FUNCTIONS,
    dates.FUNCTIONS,
    defaults.FUNCTIONS,
    dicts.FUNCTIONS,
    documents.FUNCTIONS,
    encoding.FUNCTIONS,
    floats.FUNCTIONS,
    case.FUNCTIONS,
    lists.FUNCTIONS,
    merging.FUNCTIONS,
    numbers.FUNCTIONS,
    host.FUNCTIONS,
    passwords.FUNCTIONS,
    patterns.FUNCTIONS,
    randoms.FUNCTIONS,
    reflection.FUNCTIONS,
    semvers.FUNCTIONS,
    strings.FUNCTIONS,
    urls.FUNCTIONS,
    words.FUNCTIONS,
    yaml.FUNCTIONS,
)

# Names the operator policy takes away.
_HOST: Final = frozenset(function.name for function in host.FUNCTIONS)

# Names that change the map they are given.
CHANGING: Final = frozenset(
    {"set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"}
)


def table(policy: Policy) -> Mapping[str, Function]:
    """Return the functions of a policy by name."""
    found = {function.name: function for family in _FAMILIES for function in family}
    if policy == "operator":
        return {name: function for name, function in found.items() if name not in _HOST}
    return found
