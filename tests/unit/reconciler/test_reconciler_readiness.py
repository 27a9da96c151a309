"""What the probe and the log say while a kind of KUDO is missing, as in an upgrade without CRDs."""

import asyncio
import logging
from random import Random

import pytest

from kudo.api.crds import definitions
from kudo_reconciler.app import App
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.settings import Settings
from kudo_reconciler.wiring import Environment
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.world.lease import Candidate
from tests.support.world.replica import InPlace


async def test_the_kind_that_is_missing_is_named(caplog: pytest.LogCaptureFixture) -> None:
    kinds = definitions()
    del kinds["inventories"]
    client, _ = MemoryCluster.start(crds=kinds.values()).client(user="reconciler")
    app = App(
        Settings.read((), {}),
        Environment(client, Candidate(), InPlace(), Metrics(), rng=Random(1)),
    )
    assert "instances.kudo.dev" in str(app.caches())

    with caplog.at_level(logging.WARNING, "kudo_reconciler.app"):
        work = asyncio.ensure_future(app.work())
        await asyncio.sleep(0.3)
    assert app.caches() == "the caches are not synced: inventories.kudo.dev"
    assert {(one.getMessage(), getattr(one, "kind", "")) for one in caplog.records} == {
        ("not watched", "inventories.kudo.dev")
    }

    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
