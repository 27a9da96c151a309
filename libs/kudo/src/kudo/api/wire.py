"""Types of JSON values; imports no models."""

from typing import Any

Json = Any
"""Any JSON value; the one place where a type is left open."""
JsonObject = dict[str, Any]
