"""Structured logs on stderr: one JSON object a line, or plain text for people.

A line holds `ts` (RFC 3339, UTC), `level`, `logger`, `message`, the fields of `log_context` and
of `extra=`, and `exception` as one string. Fields never replace the first four. Invariant: a
line is written whatever the fields contain: logging must not be what makes a request fail.

The stdlib forbids `extra={"name": ...}` (and other attributes of a LogRecord); such fields go
through `log_context`.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TextIO

import orjson

Style = Literal["json", "text"]

_context: ContextVar[Mapping[str, object]] = ContextVar("log_context")
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "taskName",
    "color_message",  # uvicorn's message with terminal colours
}
_OPTIONS = orjson.OPT_NON_STR_KEYS


@contextmanager
def log_context(**fields: object) -> Iterator[None]:
    """Add fields to every line that is logged inside the block, also by tasks started there."""
    token = _context.set({**_context.get({}), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def configure(level: str, style: Style, *, stream: TextIO | None = None) -> None:
    """Send the logs of the whole process to stderr (or `stream`) in one style.

    The loggers of uvicorn write to it as well; its lines about its own start and stop are left out
    unless the level is DEBUG.

    Raises:
        ValueError: the level or the style is unknown.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"unknown log level {level!r}")
    # No line has them, and finding them out takes more than half of the time of a line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_formatter(style))
    logging.basicConfig(level=number, handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        _reroute(logging.getLogger(name), number)


def _formatter(style: str) -> logging.Formatter:
    if style == "json":
        return JsonFormatter()
    if style == "text":
        return TextFormatter()
    raise ValueError(f"unknown log style {style!r}; it is json or text")


def _reroute(logger: logging.Logger, level: int) -> None:
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(level if level <= logging.DEBUG else max(level, logging.WARNING))


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in _fields(record).items():
            entry.setdefault(name, value)
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return _dump(entry)


class TextFormatter(logging.Formatter):
    """Time, level, logger and message, the fields behind them as key=value."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{_timestamp(record)} {record.levelname:<7} {record.name}: {record.getMessage()}"
        trace = "\n" + self.formatException(record.exc_info) if record.exc_info else ""
        return line + fields + trace


def _timestamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return {**_context.get({}), **extra}


def _dump(entry: dict[str, object]) -> str:
    try:
        return orjson.dumps(entry, default=str, option=_OPTIONS).decode()
    except TypeError:
        # Integers beyond 64 bits and lone surrogates are no JSON for orjson, and not for readers.
        return orjson.dumps({name: _plain(value) for name, value in entry.items()}).decode()


def _plain(value: object) -> str:
    return str(value).encode(errors="replace").decode()
