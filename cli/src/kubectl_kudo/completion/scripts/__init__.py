"""The scripts that shells load: one file for each shell, and one for kubectl."""

from pathlib import Path

SHELLS = ("bash", "zsh", "fish", "powershell", "kubectl")


def script(shell: str) -> str:
    """Return the script for one of `SHELLS`."""
    return (Path(__file__).parent / shell).read_text(encoding="utf-8")
