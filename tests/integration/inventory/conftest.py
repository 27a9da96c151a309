"""The fixtures of tests about Inventories, the same as those of the scenarios."""

from tests.support.world.inventories import (
    applies_unseen,
    elsewhere,
    forger,
    granted,
    unique,
)

__all__ = ["applies_unseen", "elsewhere", "forger", "granted", "unique"]
