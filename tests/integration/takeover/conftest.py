"""KUDO 0.19 first, then ours."""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from tests.integration.lifecycle.helpers import client_as
from tests.integration.support import World


@pytest.fixture
async def admin(world: World) -> AsyncIterator[Client]:
    async with client_as(world, "admin") as client:
        yield client
