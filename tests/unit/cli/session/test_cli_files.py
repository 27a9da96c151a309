"""Files are written whole or not at all."""

from pathlib import Path

import pytest

from kubectl_kudo.session.files import write_file


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o640)
    write_file(file, b"new")
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [*tmp_path.iterdir()] == [file]


def test_a_failure_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "b").write_text("old")
    with pytest.raises(OSError, match="directory"):
        write_file(folder, b"new")
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b"]
