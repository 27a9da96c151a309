"""A cluster for the tests of `kubectl kudo init`; the others share one where KUDO is installed."""

from collections.abc import Iterator

import pytest

from tests.support.cluster.initialising import init
from tests.support.cluster.site import CRDS, Site, new_site
from tests.support.prefork import Prefork


@pytest.fixture(scope="module")
def running_site() -> Iterator[Site]:
    with new_site("init") as site:
        Prefork.launch(site.cluster.directory, site.supervision)
        yield site


@pytest.fixture
def site(running_site: Site) -> Iterator[Site]:
    """Yield a cluster where KUDO is not installed, and remove what a test installs.

    The CRDs stay: whenever one comes or goes, the API server builds its OpenAPI document anew.
    """
    yield running_site
    init(running_site, "--uninstall", "--yes")


@pytest.fixture
def without_crds(site: Site) -> None:
    """Remove what is left of the test before."""
    init(site, "--uninstall", "--yes", "--delete-crds")
    assert not set(CRDS) & site.names("crds")
