"""Time zones: UTC, fixed offsets, and the zone database that comes with Python (tzdata)."""

from dataclasses import dataclass
from datetime import UTC as PYTHON_UTC
from datetime import datetime, timedelta
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_KEPT: Final = 128
_CYCLE: Final = 146_097 * 86_400  # seconds of 400 years, after which the calendar repeats
_EARLIEST: Final = -62_135_510_400  # the second day of the year 1
_LATEST: Final = 253_402_214_400  # the last day of the year 9999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=PYTHON_UTC)


_preloaded: Final[dict[str, bytes]] = {}


class ZoneError(LookupError):
    """There is no time zone of that name."""


class Zone(Protocol):
    """A time zone."""

    def at(self, seconds: int) -> tuple[str, int]:
        """Return the zone's short name and its seconds east of UTC at a time since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class FixedZone:
    """A time zone with a fixed offset."""

    name: str
    offset: int

    def at(self, _seconds: int) -> tuple[str, int]:
        return self.name, self.offset


UTC: Final = FixedZone("UTC", 0)


@dataclass(frozen=True, slots=True)
class DatabaseZone:
    """A time zone of the database."""

    info: "ZoneInfo"

    def at(self, seconds: int) -> tuple[str, int]:
        moment = _EPOCH + timedelta(seconds=_in_range(seconds))
        local = moment.astimezone(self.info)
        offset = local.utcoffset() or timedelta()
        return local.tzname() or "", offset.days * 86_400 + offset.seconds


def _in_range(seconds: int) -> int:
    """Shift a time by whole cycles of the calendar into the range of Python's dates."""
    if seconds > _LATEST:
        return seconds - ((seconds - _LATEST) // _CYCLE + 1) * _CYCLE
    if seconds < _EARLIEST:
        return seconds + ((_EARLIEST - seconds) // _CYCLE + 1) * _CYCLE
    return seconds


@lru_cache(1)
def _names() -> frozenset[str]:
    return frozenset(_file("zones").decode().split())


@lru_cache(_KEPT)
def load(name: str) -> Zone:
    """Find a zone: "" and "UTC" are UTC, "Local" is too, others have the database's names.

    Raises:
        ZoneError: the database has none of that name.
    """
    if name in ("", "UTC", "Local"):
        return UTC
    if name not in _names():
        raise ZoneError(f"unknown time zone {name}")
    from io import BytesIO
    from zoneinfo import ZoneInfo

    data = _preloaded.get(name) or _read(name)
    return DatabaseZone(ZoneInfo.from_file(BytesIO(data), key=name))


def preload() -> None:
    """Read the whole database, some 400 KiB, for a process that can open no files later."""
    for name in _names():
        _preloaded[name] = _read(name)


def _read(name: str) -> bytes:
    return _file(f"zoneinfo/{name}")


def _file(path: str) -> bytes:
    # Not by importlib.resources: its imports and its paths would make up a tenth of a worker's
    # start, which reads 600 files.
    found = get_data("tzdata", path)
    assert found is not None, "the loader of tzdata reads no data"
    return found
