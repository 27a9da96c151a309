"""Libraries that template functions import at their first call, since most templates need none."""

import importlib
from typing import Final

from gotemplate import functions
from gotemplate.golang import layouts

_LATE: Final = (
    "bcrypt",
    "cryptography.hazmat.backends.openssl.backend",
    "cryptography.hazmat.primitives.ciphers.modes",
    "gotemplate.golang.regex",
    "gotemplate.types.constraints",
    "gotemplate.types.certificates",
    "zoneinfo",
)


def preload() -> None:
    """Import every library and read the time zones, for a process that can open no files later."""
    for module in (*_LATE, *(f"{functions.__name__}.{family}" for family in functions.FAMILIES)):
        importlib.import_module(module)
    layouts.preload_zones()
