"""Artifacts: the ConfigMap or Secret that is made from each file of a pipe pod."""

import base64
import posixpath
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kudo.api import JsonObject
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.pipe.envfile import EnvFileError

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
    fields = _secret(file, content) if file.kind == "Secret" else _config_map(file, content)
    return {"apiVersion": "v1", "kind": file.kind, "metadata": {"name": name}, **fields}


def unreadable(file: "PipeFileFields", error: EnvFileError) -> FatalTaskError:
    """Return the error of an env file; reason PipeTaskError."""
    text = f"pipe env file {path_of(file)} cannot be read: {error}"
    return FatalTaskError("PipeTaskError", text)


def _secret(file: "PipeFileFields", content: bytes | Mapping[str, str]) -> JsonObject:
    if isinstance(content, bytes):
        data = {_base_name(file): content}
    else:
        data = {key: value.encode() for key, value in content.items()}
    return {"type": "Opaque", "data": {key: _base64(value) for key, value in data.items()}}


def _config_map(file: "PipeFileFields", content: bytes | Mapping[str, str]) -> JsonObject:
    if isinstance(content, bytes):
        return {"binaryData": {_base_name(file): _base64(content)}}
    return {"data": dict(content)}


def _base_name(file: "PipeFileFields") -> str:
    return posixpath.basename(posixpath.normpath(path_of(file)))


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
