"""Sprig's functions about what is set."""

from typing import Final

from gotemplate.functions.signature import ANY, Function
from gotemplate.values import truth


def default(fallback: object, *given: object) -> object:
    """Give the value, or the fallback when it is empty: 0, false, nil, "", or without items."""
    return given[0] if given and truth(given[0]) else fallback


FUNCTIONS: Final = (Function("default", default, (ANY,), ANY),)
