"""JSON as it comes from the wire, for those too who do without models."""

from typing import Any

Json = Any
"""Any JSON value; the one place where a type is left open."""
JsonObject = dict[str, Any]
