"""Artifacts: the ConfigMap or Secret that is made from each file of a pipe pod.

An env file has one `KEY=VALUE` a line, as KUDO 0.19 reads them.
"""

import base64
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kudo.api import JsonObject
from kudo.api.problems import KudoError
from kudo.api.task_kinds import FatalTaskError

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


if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api.task_kinds.kind import PipeFileFields

MAX_FILE_BYTES = 1024 * 1024
"""As much as a ConfigMap or Secret can hold."""
MAX_TOTAL_BYTES = 16 * 1024 * 1024
"""All files of a task are in memory at the same time."""


def path_of(file: "PipeFileFields") -> str:
    """Return the path of the file in the pod."""
    return file.file or file.env_file or ""


def check_sizes(files: Sequence["PipeFileFields"], sizes: Sequence[int]) -> None:
    """Refuse files that are too large; `sizes` in bytes.

    Raises:
        FatalTaskError: reason PipeTaskError.
    """
    for file, size in zip(files, sizes, strict=True):
        if size > MAX_FILE_BYTES:
            raise FatalTaskError(
                "PipeTaskError",
                f"pipe file {path_of(file)} size {size} exceeds maximum file size of "
                f"{MAX_FILE_BYTES} bytes",
            )
    if sum(sizes) > MAX_TOTAL_BYTES:
        raise FatalTaskError(
            "PipeTaskError",
            f"the pipe files have {sum(sizes)} bytes in all, which exceeds the maximum of "
            f"{MAX_TOTAL_BYTES} bytes; use more than one task",
        )


def artifact(file: "PipeFileFields", content: bytes | Mapping[str, str], name: str) -> JsonObject:
    """Return the ConfigMap or Secret for a file.

    Args:
        file: What the task says of the file.
        content: What it holds; of an env file its values by key.
        name: Name of the object.
    """
    # As in KUDO 0.19, a file becomes one key, named after it, and an env file one key a value.
    fields: JsonObject
    if isinstance(content, bytes):
        key = posixpath.basename(posixpath.normpath(path_of(file)))
        data = {key: base64.b64encode(content).decode()}
        # `data` of a ConfigMap can hold no bytes that are not UTF-8.
        fields = {"data": data} if file.kind == "Secret" else {"binaryData": data}
    elif file.kind == "Secret":
        texts = content.items()
        fields = {"data": {k: base64.b64encode(text.encode()).decode() for k, text in texts}}
    else:
        fields = {"data": dict(content)}
    if file.kind == "Secret":
        fields = {"type": "Opaque", **fields}
    return {"apiVersion": "v1", "kind": file.kind, "metadata": {"name": name}, **fields}


def unreadable(file: "PipeFileFields", error: EnvFileError) -> FatalTaskError:
    """Return the error of an env file; reason PipeTaskError."""
    text = f"pipe env file {path_of(file)} cannot be read: {error}"
    return FatalTaskError("PipeTaskError", text)
