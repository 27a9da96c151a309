"""Writes docs/pictures/: what commands print on a terminal of 80 columns, as SVG.

    python -m tools.pictures NAME COMMAND...

runs the command on a pseudo-terminal and writes docs/pictures/NAME.svg. KUBECONFIG and the working
directory are those of the caller: `make demo KEEP=1` prints how to reach its cluster. The pictures
load no font from elsewhere.
"""

import argparse
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

PICTURES: Final = Path(__file__).parents[1] / "docs" / "pictures"
COLUMNS: Final = 80
_ROWS: Final = 50
_FONT: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_REMOTE: Final = re.compile(r"\s*(?:@font-face \{.*?\}|<!--.*?-->)\n", re.DOTALL)
"""What names other servers in the pictures of rich."""


def run(command: list[str]) -> str:
    """Return what a command prints on a terminal, with its colours.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, shown)
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Read from a terminal; Linux reports EIO once nobody has the other end open."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def svg(command: str, shown: str) -> str:
    """Return a picture of a command and what it printed."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        console.print(Text(f"$ {command}", style="bold"), soft_wrap=False)
        console.print(Text.from_ansi(shown.rstrip("\n")))
    drawn = console.export_svg(title="", unique_id="terminal")
    return _REMOTE.sub("\n", drawn).replace("Fira Code, monospace", _FONT) + "\n"


def main() -> int:
    """Write one picture, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures")
    parser.add_argument("name")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    try:
        shown = run(options.command)
    except subprocess.CalledProcessError as error:
        print(f"exit code {error.returncode}: {shlex.join(options.command)}", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    path = PICTURES / f"{options.name}.svg"
    path.write_text(svg(shlex.join(options.command), shown))
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
