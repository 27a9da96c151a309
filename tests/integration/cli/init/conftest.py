"""Clusters where `init` meets others: KUDO 0.19, whose place it takes, and cert-manager."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from kubeio.client import Client
from kubeio.connection.config import load_config
from tests.support.cert_manager import install_crds
from tests.support.cluster.initialising import init
from tests.support.cluster.site import Site

OLD = "kudo-manager-instance-admission-webhook-config"
CHART_TESTS = Path(__file__).parents[3] / "chart"
_CERT_MANAGER_CRDS = ("certificates", "certificaterequests", "issuers", "clusterissuers")


@pytest.fixture
def old(site: Site) -> Iterator[Site]:
    """Yield a cluster as `init` of KUDO 0.19 leaves it; its webhook does not answer."""
    init(site, "--crd-only")
    objects = list(yaml.safe_load_all((CHART_TESTS / "original.yaml").read_text()))
    site.apply(*objects)
    yield site
    site.kubectl("delete", "--ignore-not-found", "--filename=-", text=yaml.safe_dump_all(objects))


@pytest.fixture
async def admin(site: Site) -> AsyncIterator[Client]:
    """Yield a client that may do everything, on a cluster that serves the kinds of cert-manager."""
    async with Client(load_config(site.cluster.kubeconfig("admin"))) as client:
        await install_crds(client)
        yield client
    names = [f"{name}.cert-manager.io" for name in _CERT_MANAGER_CRDS]
    await asyncio.to_thread(site.delete_crds, *names)
