"""The namespaces of a node that cannot be created or have ended; the e2e tests live in them."""

import os
from pathlib import Path

import pytest

from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Supervision
from kudo_cluster.processes.sandbox import Sandbox


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.logs.mkdir()
    return layout


def test_namespaces_that_cannot_be_made_are_an_error_with_the_reason(layout: Layout) -> None:
    supervised = Supervision(layout.log("supervisor"), remove=None)
    try:
        # With root the script fails at the directory, without it there is no namespace at all.
        why = "(no/such/directory|Operation not permitted)"
        reason = f"cannot create the namespaces of a real node: .*{why}"
        with pytest.raises(ClusterError, match=reason):
            Sandbox.start(layout, supervised, Path("/no/such/directory"))
    finally:
        supervised.stop()


def test_a_node_that_has_died_is_an_error(layout: Layout) -> None:
    layout.node.mkdir()
    # More than any kernel counts up to.
    (layout.node / "sandbox").write_text(f"{2**22 + 1} native\n")
    with pytest.raises(ClusterError, match=r"the real node in .* has died"):
        Sandbox.read(layout)


def test_a_command_gets_in_by_the_first_process(layout: Layout) -> None:
    layout.node.mkdir()
    (layout.node / "sandbox").write_text(f"{os.getpid()} overlayfs\n")
    sandbox = Sandbox.read(layout)
    assert sandbox.snapshotter == "overlayfs"
    assert sandbox.nsenter[:2] == ("nsenter", f"--target={os.getpid()}")
