"""One cluster for a test session: load it with ``pytest_plugins = ["kudo_cluster.pytest_plugin"]``.

The cluster starts when the first test asks for it and dies with the session, however that ends.
"""

import contextlib
from collections.abc import Iterator

import pytest

from kudo_cluster import progress
from kudo_cluster.cluster import Cluster
from kudo_cluster.programs import binaries


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Yield a started cluster with one node."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    # Building takes minutes: whoever watches the run has to see it. Without need, nothing is said.
    visible = capture.global_and_fixture_disabled() if capture else contextlib.nullcontext()
    with visible:
        binaries.obtain(progress.default())
    with Cluster.start(progress=progress.silent) as started:
        yield started
