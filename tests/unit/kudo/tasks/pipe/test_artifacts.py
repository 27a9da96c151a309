"""ConfigMaps and Secrets made of files."""

import base64
from collections.abc import Sequence

import pytest

from kudo.api import JsonObject, PipeFile
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.pipe import (
    MAX_FILE_BYTES,
    MAX_TOTAL_BYTES,
    EnvFileError,
    artifact,
    check_sizes,
    parse_env_file,
    unreadable,
)

BYTES = bytes(range(256))


def file(path: str, kind: str = "ConfigMap") -> PipeFile:
    return PipeFile.from_wire({"file": path, "kind": kind, "key": "k"})


def env_file(path: str, kind: str = "ConfigMap") -> PipeFile:
    return PipeFile.from_wire({"envFile": path, "kind": kind, "key": "k"})


def base64_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_a_file_becomes_an_object() -> None:
    table: list[tuple[PipeFile, bytes | dict[str, str], JsonObject]] = [
        (file("/tmp/index.html"), BYTES, {"binaryData": {"index.html": base64_of(BYTES)}}),
        (file("/tmp/a//b/../c.txt"), b"", {"binaryData": {"c.txt": ""}}),
        (
            file("/tmp/a/b", "Secret"),
            BYTES,
            {"type": "Opaque", "data": {"b": base64_of(BYTES)}},
        ),
        (env_file("/tmp/env"), {"A": "1", "B": ""}, {"data": {"A": "1", "B": ""}}),
        (env_file("/tmp/env"), {}, {"data": {}}),
        (
            env_file("/tmp/env", "Secret"),
            {"A": "\u00e9"},
            {"type": "Opaque", "data": {"A": base64_of("\u00e9".encode())}},
        ),
    ]
    for entry, content, fields in table:
        assert artifact(entry, content, "i.k") == {
            "apiVersion": "v1",
            "kind": entry.kind,
            "metadata": {"name": "i.k"},
            **fields,
        }


def test_an_env_file_that_cannot_be_read_is_fatal_and_not_quoted() -> None:
    with pytest.raises(EnvFileError) as caught:
        parse_env_file(b"PASSWORD")
    error = unreadable(env_file("/tmp/env", "Secret"), caught.value)
    assert error.reason == "PipeTaskError"
    assert str(error) == (
        "pipe env file /tmp/env cannot be read: line 1 has no '='; write KEY=VALUE"
    )


def test_a_file_of_one_mebibyte_fits_and_a_byte_more_does_not() -> None:
    files = [file("/tmp/a"), env_file("/tmp/b")]
    check_sizes(files, [0, MAX_FILE_BYTES])
    with pytest.raises(FatalTaskError) as caught:
        check_sizes(files, [0, 1048577])
    assert caught.value.reason == "PipeTaskError"
    assert str(caught.value) == (
        "pipe file /tmp/b size 1048577 exceeds maximum file size of 1048576 bytes"
    )


@pytest.mark.parametrize(
    ("sizes", "fit"), [([MAX_FILE_BYTES] * 16, True), ([MAX_FILE_BYTES] * 16 + [1], False)]
)
def test_all_files_of_a_task_have_a_limit(sizes: Sequence[int], fit: bool) -> None:
    files = [file(f"/tmp/{number}") for number in range(len(sizes))]
    if fit:
        check_sizes(files, sizes)
        return
    with pytest.raises(FatalTaskError, match=f"{MAX_TOTAL_BYTES + 1} bytes in all"):
        check_sizes(files, sizes)
