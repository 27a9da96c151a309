"""Reads the settings of pip on this machine, for the pip that runs inside a build.

An own index, a proxy or a private CA are settings of the machine. They are given to the build as
secrets, so that they end up neither in an image nor in its history.
"""

import ast
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.images.commands import run

BUNDLE = "/run/secrets/ca-bundle"
"""Path of the bundle of CA certificates in a build."""
_PASSED_ON = frozenset(
    {
        "default-timeout",
        "extra-index-url",
        "find-links",
        "index-url",
        "no-index",
        "proxy",
        "retries",
        "timeout",
        "trusted-host",
    }
)
_CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True, slots=True)
class PipSettings:
    """The settings that a build needs.

    Attributes:
        options: pip's own options, by name.
        bundle: a file of CA certificates; None for those of pip.
        directories: where `find-links` looks for wheels on this machine.
    """

    options: Mapping[str, str]
    bundle: Path | None
    directories: tuple[Path, ...]

    def configuration(self) -> str:
        """Return the pip.conf of the build."""
        options = dict(self.options)
        if self.bundle is not None:
            options["cert"] = BUNDLE
        # The further lines of a value, as find-links may have them, are indented.
        lines = (" = ".join((name, "\n  ".join(v.split()))) for name, v in sorted(options.items()))
        return "\n".join(["[global]", *lines, ""])


def of_this_machine() -> PipSettings:
    """Ask pip, which knows its files and variables."""
    return read(run([sys.executable, "-m", "pip", "config", "list"]), os.environ)


def read(listing: str, environ: Mapping[str, str]) -> PipSettings:
    """Parse the output of `pip config list`.

    Args:
        listing: lines such as `global.index-url='...'`; those of `:env:` override, as in pip.
        environ: may name a bundle of CA certificates; pip's `cert` takes precedence.
    """
    settings = dict(sorted(map(_option, listing.splitlines()), key=lambda option: option[0]))
    flat = {name: value for (_, name), value in settings.items()}
    options = {name: value for name, value in flat.items() if name in _PASSED_ON}
    certificates = flat.get("cert") or next(filter(None, map(environ.get, _CERTIFICATES)), None)
    links = map(Path, options.get("find-links", "").split())
    return PipSettings(
        options=options,
        bundle=Path(certificates) if certificates else None,
        directories=tuple(path for path in links if path.is_dir()),
    )


def _option(line: str) -> tuple[tuple[int, str], str]:
    name, _, value = line.partition("=")
    section, _, option = name.rpartition(".")
    rank = {"global": 0, ":env:": 2}.get(section, 1)
    return (rank, option), str(ast.literal_eval(value))
