"""A cluster's directory: nothing of anybody else is removed, and one at a time works in it."""

import threading
from pathlib import Path

import pytest

from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout


def test_a_claimed_directory_is_empty_of_an_earlier_cluster(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.claim()
    layout.etcd.mkdir()
    (layout.etcd / "data").touch()
    layout.stages.touch()
    layout.claim()
    assert not layout.etcd.exists()
    assert not layout.stages.exists()


def test_a_directory_with_something_else_under_our_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(ClusterError, match=r"contains other files \(logs\)"):
        Layout(tmp_path).claim()


def test_removing_an_unclaimed_directory_removes_nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    Layout(tmp_path).remove()
    assert (tmp_path / "logs").is_dir()


def test_removing_keeps_what_clusters_did_not_put_there(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "cluster")
    layout.root.mkdir()
    layout.claim()
    layout.pki.mkdir()
    (layout.root / "notes.txt").touch()
    layout.remove()
    assert [path.name for path in layout.root.iterdir()] == ["notes.txt"]
    (layout.root / "notes.txt").unlink()
    layout.remove()
    assert not layout.root.exists()


def test_only_one_at_a_time_holds_the_directory(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "cluster")
    held: list[str] = []
    second = threading.Thread(target=lambda: _hold(layout, held, "second"))
    with layout.locked():
        second.start()
        held.append("first")
        # The holder may remove the directory; whoever waits gets a new one, not a deleted one.
        layout.remove()
    second.join()
    assert held == ["first", "second"]
    assert layout.root.is_dir()


def _hold(layout: Layout, held: list[str], name: str) -> None:
    with layout.locked():
        held.append(name)


def test_a_file_in_place_of_the_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cluster").touch()
    with (
        pytest.raises(ClusterError, match="is not a directory"),
        Layout(tmp_path / "cluster").locked(),
    ):
        raise AssertionError
