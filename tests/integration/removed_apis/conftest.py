"""A namespace of its own for each test."""

import pytest

from kubeio.client import Client
from tests.support.cluster.clients import new_namespace


@pytest.fixture
async def namespace(admin: Client) -> str:
    return await new_namespace(admin)
