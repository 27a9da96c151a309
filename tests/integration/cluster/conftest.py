"""kubectl against the session's cluster, and a namespace for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kudo_cluster import Cluster
from tests.support.cluster.kubectl import Kubectl, new_namespace


@pytest.fixture
def kubectl(cluster: Cluster, tmp_path: Path) -> Iterator[Kubectl]:
    """Give kubectl as the admin, in a new namespace."""
    with new_namespace(cluster, tmp_path / "cache") as found:
        yield found
