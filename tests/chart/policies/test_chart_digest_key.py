"""The key for the digests of Secrets if somebody else has made it, on a real API server."""

from collections.abc import Iterator

import pytest

from tests.support.cluster.site import Site
from tools.chart.helm import NAMESPACE

_KEY = "kudo-digest-key"
_THERE = f"--namespace={NAMESPACE}"


@pytest.fixture
def site(running_site: Site) -> Iterator[Site]:
    """Yield a cluster without a release, and remove what a test installs."""
    try:
        yield running_site
    finally:
        running_site.clean()


def test_a_key_that_was_made_before_the_release_is_used_and_stays(site: Site) -> None:
    # As docs/installing.md has it made.
    site.kubectl("create", "secret", "generic", _KEY, "--from-literal=key=mine", _THERE)
    made = site.get("secret", _KEY, _THERE)

    site.helm("install")
    site.helm("upgrade")
    assert site.get("secret", _KEY, _THERE) == made

    site.helm("uninstall", "--no-hooks")
    assert site.get("secret", _KEY, _THERE) == made


def test_the_key_of_a_release_goes_with_it(site: Site) -> None:
    site.helm("install")
    made = site.get("secret", _KEY, _THERE)
    site.helm("upgrade")
    assert site.get("secret", _KEY, _THERE)["data"] == made["data"]

    site.helm("uninstall", "--no-hooks")

    assert _KEY not in site.names("secrets", _THERE)
