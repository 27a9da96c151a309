"""Signs of life: in place on a terminal, now and then elsewhere."""

import io

import pytest

from kudo_cluster import progress
from kudo_cluster.progress import Heartbeat, InPlace


def test_a_terminal_keeps_lines_and_replaces_signs_of_life() -> None:
    screen = io.StringIO()
    line = InPlace(screen)
    line("first")
    line.beat("1 s")
    line.beat("2 s")
    line("second")
    assert screen.getvalue() == "first\n1 s\r\x1b[K2 s\r\x1b[Ksecond\n"


def test_a_terminal_shows_every_sign_of_life_and_is_clean_at_the_end() -> None:
    screen = io.StringIO()
    heartbeat = Heartbeat(InPlace(screen))
    for elapsed in (0.5, 1.0):
        heartbeat.beat(f"{elapsed}", elapsed)
    heartbeat.end()
    heartbeat.end()
    assert screen.getvalue() == "0.5\r\x1b[K1.0\r\x1b[K"


def test_a_log_gets_a_sign_of_life_every_ten_seconds() -> None:
    lines: list[str] = []
    heartbeat = Heartbeat(lines.append)
    for elapsed in range(0, 31, 2):
        heartbeat.beat(f"{elapsed} s", elapsed)
    heartbeat.end()
    assert lines == ["10 s", "20 s", "30 s"]


def test_a_pipe_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.default() is progress.announce
    progress.default()("a line")
    assert capsys.readouterr().err == "a line\n"
