"""Compares files of the record with what the code of today does; no tests of its own."""

from difflib import unified_diff

from tests.unit.record.subjects import FOLDER, on_disk, written


def assert_recorded(name: str) -> None:
    """Raise AssertionError, with the difference, if a file is not what is written today."""
    subject = name.partition("/")[0]
    found = written(subject).get(name)
    assert found is not None, f"nothing writes tests/record/files/{name} any more: make record"
    recorded = (FOLDER / name).read_text(encoding="utf-8")
    if found != recorded:
        lines = unified_diff(
            recorded.splitlines(), found.splitlines(), f"recorded {name}", "now", lineterm=""
        )
        raise AssertionError(
            "\n".join([*lines, "", "Meant so? Then: make record, and say why in the commit."])
        )


def assert_complete(subject: str) -> None:
    """Raise AssertionError if a file is missing."""
    missing = sorted(set(written(subject)) - set(on_disk(subject)))
    assert not missing, f"not in tests/record/files: {', '.join(missing)}; make record"
