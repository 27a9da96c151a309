"""Log lines as the services write them."""

import asyncio
import io
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from serving.logs import JsonFormatter, TextFormatter, configure, log_context


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Restore the logging of the test run, which `configure` replaces."""
    names = ("", "uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
    loggers = [logging.getLogger(name) for name in names]
    before = [(one, one.level, [*one.handlers], one.propagate) for one in loggers]
    for handler in (*logging.getLogger().handlers,):
        logging.getLogger().removeHandler(handler)
    yield io.StringIO()
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = True
    for logger, level, handlers, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in stream.getvalue().splitlines()]


def record(message: object = "hello", *args: object, **extra: object) -> logging.LogRecord:
    found = logging.LogRecord("app", logging.INFO, "f.py", 1, message, args, None)
    found.__dict__.update(extra)
    return found


def test_a_line_holds_time_level_logger_message_and_fields(stream: io.StringIO) -> None:
    configure("info", "json", stream=stream)
    logging.getLogger("app").info("done in %d s", 3, extra={"plan": "deploy"})
    (line,) = lines(stream)
    moment = datetime.fromisoformat(line.pop("ts"))
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60
    assert line == {
        "level": "info",
        "logger": "app",
        "message": "done in 3 s",
        "plan": "deploy",
    }


def test_records_have_no_thread_and_no_process(stream: io.StringIO) -> None:
    configure("info", "json", stream=stream)
    made = logging.makeLogRecord({})
    assert (made.thread, made.threadName, made.process, made.processName) == (None,) * 4


def test_the_context_is_on_every_line_of_the_block_and_nests(stream: io.StringIO) -> None:
    configure("info", "json", stream=stream)
    log = logging.getLogger("app")
    with log_context(namespace="ns", name="i"):
        with log_context(name="j", uid="u"):
            log.info("inner")
        log.info("outer")
    log.info("outside")
    inner, outer, outside = lines(stream)
    assert (inner["namespace"], inner["name"], inner["uid"]) == ("ns", "j", "u")
    assert (outer["name"], "uid" in outer) == ("i", False)
    assert "namespace" not in outside


async def test_tasks_keep_the_context_in_which_they_were_started(stream: io.StringIO) -> None:
    configure("info", "json", stream=stream)

    async def work(name: str) -> None:
        with log_context(name=name):
            await asyncio.sleep(0)
            logging.getLogger("app").info("worked")

    async with asyncio.TaskGroup() as group:
        with log_context(namespace="ns"):
            for name in ("a", "b"):
                group.create_task(work(name))
    assert [(line["namespace"], line["name"]) for line in lines(stream)] == [
        ("ns", "a"),
        ("ns", "b"),
    ]


def test_an_exception_is_one_string(stream: io.StringIO) -> None:
    configure("info", "json", stream=stream)
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("app").exception("failed")
    (line,) = lines(stream)
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: broken")


def test_fields_never_replace_the_message_or_the_level() -> None:
    with log_context(level="fake", message="fake", ts="fake"):
        line = orjson.loads(JsonFormatter().format(record()))
    assert (line["level"], line["message"]) == ("info", "hello")
    assert line["ts"] != "fake"


@pytest.mark.parametrize(
    "value", [object(), {1: "a"}, {"a"}, b"bytes", 2**80, "\ud800", float("nan"), Exception("x")]
)
def test_a_line_is_written_whatever_a_field_holds(value: object) -> None:
    assert orjson.loads(JsonFormatter().format(record(odd=value)))["message"] == "hello"


def test_a_line_break_in_a_message_makes_no_second_line() -> None:
    assert "\n" not in JsonFormatter().format(record("one\ntwo"))


def test_text_style_shows_the_same_for_people() -> None:
    with log_context(name="i"):
        line = TextFormatter().format(record(plan="deploy"))
    assert line.endswith("INFO    app: hello name=i plan=deploy")


@pytest.mark.parametrize(("level", "shown"), [("info", ["careful"]), ("debug", ["up", "careful"])])
def test_uvicorn_speaks_through_the_same_lines_without_its_chatter(
    stream: io.StringIO, level: str, shown: list[str]
) -> None:
    configure(level, "json", stream=stream)
    logging.getLogger("uvicorn.error").info("up")
    logging.getLogger("uvicorn.error").warning("careful")
    assert [line["message"] for line in lines(stream)] == shown


def test_an_unknown_level_or_style_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown log level 'loud'"):
        configure("loud", "json")
    with pytest.raises(ValueError, match="unknown log style 'xml'"):
        configure("info", "xml")  # type: ignore[arg-type]
