"""Sprig's functions on paths, environment variables and hosts; only policy "sprig" has them.

Paths are only text here: no file is read.
"""

import posixpath
import re
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.numbers import choice
from gotemplate.rendering import Rendering
from gotemplate.types.signature import STRING, Function

# A name, one special character, either in braces, or a brace that nothing useful follows.
_VARIABLE: Final = re.compile(
    r"([*#$@!?\-0-9]|[A-Za-z0-9_]+)|\{([*#$@!?\-0-9])\}|\{([^}]*)\}|\{", re.ASCII
)


def clean(path: str) -> str:
    """Return the shortest equivalent path."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def base(path: str) -> str:
    """Return the last part of a path; "." for an empty path."""
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def directory(path: str) -> str:
    """Return a path without its last part."""
    start, slash, _ = path.rpartition("/")
    return clean(start + slash)


def extension(path: str) -> str:
    """Return the file name extension, with its dot."""
    _, point, end = path.rpartition("/")[2].rpartition(".")
    return point + end if point else ""


def is_absolute(path: str) -> bool:
    """Return whether a path is absolute."""
    return path.startswith("/")


def env(run: Rendering, name: str) -> str:
    """Return a variable of the environment, "" when it is not set."""
    return run.sources.variables.get(name, "")


def host_by_name(run: Rendering, name: str) -> str:
    """Return one of the addresses of a host.

    Raises:
        FunctionError: it has none.
    """
    addresses = run.sources.resolve(name)
    if not addresses:
        raise FunctionError("invalid argument to Intn")
    return choice(run.sources, addresses)


def expandenv(run: Rendering, text: str) -> str:
    """Replace `$name` and `${name}` with environment variables, as Go's os.ExpandEnv does."""
    parts: list[str] = []
    position = size = 0
    while (dollar := text.find("$", position)) >= 0 and dollar + 1 < len(text):
        parts.append(text[position:dollar])
        name, position = _variable(text, dollar + 1)
        parts.append("$" if name is None else run.sources.variables.get(name, ""))
        size += len(parts[-1])
        run.charge(1)
        run.check("string", size)
    return "".join([*parts, text[position:]])


def _variable(text: str, start: int) -> tuple[str | None, int]:
    """Read a name after a dollar sign; return it and the place after it.

    It is None when there is none, and "", which is no variable, when it is bad.
    """
    match = _VARIABLE.match(text, start)
    if match is None:
        return None, start
    return match[1] or match[2] or match[3] or "", match.end()


_PATHS: Final = tuple(
    Function(name, call, (STRING,))
    for names, call in (
        (("base", "osBase"), base),
        (("clean", "osClean"), clean),
        (("dir", "osDir"), directory),
        (("ext", "osExt"), extension),
        (("isAbs", "osIsAbs"), is_absolute),
    )
    for name in names
)

FUNCTIONS: Final = (
    Function("env", env, (STRING,), uses_rendering=True),
    Function("expandenv", expandenv, (STRING,), uses_rendering=True),
    Function("getHostByName", host_by_name, (STRING,), uses_rendering=True),
    *_PATHS,
)
