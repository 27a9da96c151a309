"""Env files: one `KEY=VALUE` a line, as KUDO 0.19 reads them."""

import re
from collections.abc import Iterator

from kudo.api.problems import KudoError

_KEY = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_MAX_LINE = 64 * 1024 - 1
_BOM = "\ufeff"


class EnvFileError(KudoError):
    """A line that cannot be read. The text names its number, never what stands in it."""


def parse_env_file(content: bytes) -> dict[str, str]:
    """Return the values by key; of a key that comes twice the last one counts.

    White space before a key is dropped, as are blank lines and those that begin with `#`. A value
    is everything after the first `=`, quotes and trailing spaces included.

    Args:
        content: UTF-8; a byte order mark and the CR of CRLF are dropped.

    Raises:
        EnvFileError: a line is too long, is no UTF-8, has no `=`, or no key that can be used.
    """
    values: dict[str, str] = {}
    for number, line in _lines(content):
        key, equals, value = line.partition("=")
        if not equals:
            raise EnvFileError(f"line {number} has no '='; write KEY=VALUE")
        if not _KEY.fullmatch(key) or key == "." or key.startswith(".."):
            raise EnvFileError(
                f"line {number} has no valid key before its '='; use letters, digits, '-', '_' "
                "and '.', and do not begin with a digit"
            )
        values[key] = value
    return values


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that says something."""
    for number, raw in enumerate(content.split(b"\n"), 1):
        if len(raw) > _MAX_LINE:
            raise EnvFileError(f"line {number} is longer than {_MAX_LINE} bytes")
        try:
            line = raw.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise EnvFileError(f"line {number} is not valid UTF-8") from error
        line = (line.removeprefix(_BOM) if number == 1 else line).lstrip()
        if line and not line.startswith("#"):
            yield number, line
