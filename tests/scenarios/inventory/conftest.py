"""The fixtures of tests about Inventories, the same as those of the tests on a real cluster."""

from tests.support.world.inventories import (
    applies_unseen,
    elsewhere,
    forger,
    granted,
    unique,
)

__all__ = ["applies_unseen", "elsewhere", "forger", "granted", "unique"]
