"""Reads the version that is built: that of the packages, and the commit."""

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REVISION = "org.opencontainers.image.revision"
"""The label of an image that names the commit."""
_WITHOUT_GIT = 315532800  # 1980-01-01, the earliest time that a ZIP file can hold


@dataclass(frozen=True, slots=True)
class Version:
    """The version that is built.

    Attributes:
        number: such as 0.1.0.
        revision: the commit, or `unknown` outside of a checkout.
        timestamp: the time of that commit, in seconds since 1970, which all files get.
        changed: whether files differ from that commit.
    """

    number: str
    revision: str
    timestamp: int
    changed: bool = False


def current() -> Version:
    """Read the version from the CLI's project file, and the rest from git where there is one."""
    with (ROOT / "cli" / "pyproject.toml").open("rb") as stream:
        number = str(tomllib.load(stream)["project"]["version"])
    revision = _git("rev-parse", "HEAD")
    timestamp = _git("log", "-1", "--format=%ct")
    changed = not revision or bool(_git("status", "--porcelain"))
    return Version(number, revision or "unknown", int(timestamp or _WITHOUT_GIT), changed)


def _git(*arguments: str) -> str:
    try:
        asked = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return asked.stdout.strip()
