import subprocess
import sys

import pytest

from tools.pictures import COLUMNS, run, svg


def test_a_command_sees_a_terminal_of_eighty_columns() -> None:
    program = "import os, sys; print(sys.stdout.isatty(), os.get_terminal_size().columns)"
    assert run([sys.executable, "-c", program]) == f"True {COLUMNS}\n"


def test_a_command_that_fails_makes_no_picture() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_picture_has_the_command_and_what_it_printed_and_loads_nothing() -> None:
    drawn = svg("kubectl kudo version", "\x1b[32mready\x1b[0m")
    assert "version" in drawn
    assert "ready" in drawn
    assert "\x1b" not in drawn
    assert "@font-face" not in drawn
    assert drawn.count("http") == drawn.count('xmlns="http://www.w3.org/2000/svg"')
