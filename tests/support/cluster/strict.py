"""Strict tenancy on an installation that runs in compat mode, for the time of some tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from kudo_cluster.installation import Installation
from kudo_cluster.tenancy import Tenancy


@contextmanager
def strict(installation: Installation, *, constrained: bool = True) -> Iterator[Installation]:
    """Run both services in strict mode with the rights of it, and in compat mode afterwards.

    The namespaces of tests are bound by `Installation.allow_tenant`.

    Args:
        installation: In compat mode, on a local cluster.
        constrained: Whether the API server has constrained impersonation.
    """
    _restart(installation, "strict", constrained=constrained)
    try:
        yield installation
    finally:
        _restart(installation, "compat", constrained=constrained)


def _restart(installation: Installation, tenancy: Tenancy, *, constrained: bool) -> None:
    installation.webhook.stop()
    installation.reconciler.stop()
    installation.set_tenancy(tenancy, constrained=constrained)
    installation.launch(lambda _: None)
