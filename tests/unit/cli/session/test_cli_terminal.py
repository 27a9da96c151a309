"""What reaches a terminal: clean texts, data that says the same, and our own control."""

import json
import logging
import re
import sys
import traceback
from pathlib import Path

import pytest
import yaml

import kubectl_kudo
from kubectl_kudo.session.output import one, warn
from kubectl_kudo.session.terminal import (
    CleanStream,
    clean,
    cleaned_streams,
    continued,
    without_colours,
    word,
)
from kudo.packages.readable_yaml import dump
from tests.support.terminals.stream import TerminalStream

ACTED_ON = [chr(code) for code in range(0x11000) if clean(chr(code)) != chr(code)]
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_controls_and_characters_that_turn_text_around_are_replaced() -> None:
    controls = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\n", "\t"}
    assert controls | set(_DIRECTIONS) <= set(ACTED_ON)
    assert clean("a\x1b]0;x\x07\x9b\r\u202eb\n\tc") == "a\\x1b]0;x\\x07\\x9b\\r\\u202eb\n\tc"


def test_other_texts_stay() -> None:
    text = "│\u00a0\u00a0 └── ✅ ⌛ 日本 é ﷼ 👩\u200d💻\n\ta\\x1b"
    assert clean(text) == text


def test_a_word_stays_in_its_line() -> None:
    assert word("a\n\tb\x1b") == "a\\n\\tb\\x1b"


def test_further_lines_are_indented_if_they_are_not() -> None:
    assert continued("a\nb:\n  - c") == "a\n  b:\n    - c"
    assert continued("a\n  b\n    c") == "a\n  b\n    c"


@pytest.mark.parametrize("stream", ["out", "err"])
def test_whatever_writes_to_a_stream_writes_clean_text(
    stream: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with cleaned_streams():
        target = getattr(sys, f"std{stream}")
        handler = logging.StreamHandler(target)
        handler.emit(logging.makeLogRecord({"msg": "log\x1b"}))
        print("print\x1b\udcff", file=target)
        try:
            raise ValueError("error\x9b")
        except ValueError:
            traceback.print_exc(file=target)
    captured = capsys.readouterr()
    text = getattr(captured, stream)
    assert clean(text) == text
    assert "log\\x1b\nprint\\x1b\\udcff\nTraceback" in text
    assert text.endswith("ValueError: error\\x9b\n")


def test_nothing_goes_around_the_streams() -> None:
    around = re.compile(r"\.buffer\b|__std(out|err)__|/dev/tty|os\.write\(|os\.system\(")
    package = Path(kubectl_kudo.__file__).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if around.search(path.read_text())
    }
    assert found == {"commands/complete.py"}, "it writes a constant when its time is over"


def test_what_is_drawn_has_colours_and_moves_and_nothing_else_acts() -> None:
    terminal = TerminalStream()
    drawn = "\r\x1b[2K\x1b[1A\x1b[2K\x1b[?25l\x1b[31m✗\x1b[0m\x1b[?25h\n"
    CleanStream(terminal).draw(f"{drawn}\x1b[2J\x1b]0;x\x07\x1b[5B\ra")
    assert terminal.getvalue() == f"{drawn}\\x1b[2J\\x1b]0;x\\x07\\x1b[5B\\ra"


def test_a_warning_has_its_colour_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for colours, written in (
        (True, "\033[1;33mWarning:\033[0m tea\\x1b[32m\n"),
        (False, "Warning: tea\\x1b[32m\n"),
    ):
        terminal = TerminalStream()
        monkeypatch.setattr(sys, "stderr", terminal)
        with cleaned_streams():
            if not colours:
                without_colours()
            warn("tea\x1b[32m")
        assert terminal.getvalue() == written


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_data_is_clean_and_says_the_same(output: str) -> None:
    texts = [f"a{character}b\n{character}" for character in ACTED_ON]
    data = {"texts": texts, **{f"key{text}": text for text in texts}}
    shown = one(data, output)
    assert clean(shown) == shown
    assert (json.loads if output == "json" else yaml.safe_load)(shown) == data


def test_data_without_such_characters_is_written_as_before() -> None:
    data = {"é": "日本", "lines": "a\nb\n"}
    assert dump(data) == "é: 日本\nlines: |\n  a\n  b\n"
    assert one(data, "json") == '{\n  "é": "日本",\n  "lines": "a\\nb\\n"\n}\n'
