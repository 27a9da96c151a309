"""A cluster for a test session: ``pytest_plugins = ["kudo_cluster.pytest_plugin"]``.

It is started by the first test that uses it, and ends with the session, also if that is killed.
"""

import contextlib
from collections.abc import Iterator

import pytest

from kudo_cluster import progress
from kudo_cluster.cluster import Cluster
from kudo_cluster.programs import binaries


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Yield a running cluster with one node."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    # A build takes minutes, so its progress is shown despite the capture of output.
    visible = capture.global_and_fixture_disabled() if capture else contextlib.nullcontext()
    with visible:
        binaries.obtain(progress.default())
    with Cluster.start(progress=progress.silent) as started:
        yield started
