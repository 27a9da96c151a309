"""PriorityLevelConfigurations: the shares were renamed, and 0 came to mean none."""

from typing import Final

from kudo.api import JsonObject
from kudo.objects.removed_apis.shapes import mapping_at, rename

_KEEP_ZERO: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_SHARES: Final = "nominalConcurrencyShares"


def upgrade_assured_shares(level: JsonObject) -> None:
    limited = mapping_at(level, "spec", "limited")
    if limited is not None:
        rename(limited, "assuredConcurrencyShares", _SHARES)
        _default_zero(limited)


def upgrade_nominal_shares(level: JsonObject) -> None:
    """Zero is meant where v1beta3 said so by an annotation."""
    annotations = mapping_at(level, "metadata", "annotations") or {}
    if _KEEP_ZERO in annotations:
        del annotations[_KEEP_ZERO]
        return
    limited = mapping_at(level, "spec", "limited")
    if limited is not None:
        _default_zero(limited)


def _default_zero(limited: JsonObject) -> None:
    # False equals 0, too, and is for the API server to refuse.
    if limited.get(_SHARES) == 0 and limited[_SHARES] is not False:
        del limited[_SHARES]
