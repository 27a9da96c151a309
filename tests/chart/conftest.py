"""One cluster for the tests that install the chart; each of them leaves it as it was."""

from collections.abc import Iterator

import pytest

from tests.support.cluster.site import Site, new_site


@pytest.fixture(scope="session")
def running_site() -> Iterator[Site]:
    with new_site() as site:
        yield site


@pytest.fixture
def site(running_site: Site) -> Iterator[Site]:
    """Yield a cluster where KUDO is not installed, and remove whatever a test installs."""
    yield running_site
    running_site.clean()
