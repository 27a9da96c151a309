"""Fixtures for kubeio: a real HTTP server on the loopback, and a client for it."""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from tests.unit.kubeio.fake_api import FakeApi, fake_api


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with fake_api() as started:
        yield started


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[Client]:
    async with Client(api.config, timeout=5.0) as opened:
        yield opened
