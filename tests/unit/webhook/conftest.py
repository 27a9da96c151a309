"""A webhook that tests share: starting one starts worker processes, which takes a second of CPU."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.unit.webhook.harness import Replaced, Webhook, first_operator, kept


@pytest.fixture(scope="session")
def shared_versions() -> Replaced:
    return Replaced(first_operator())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_webhook(
    tmp_path_factory: pytest.TempPathFactory, shared_versions: Replaced
) -> AsyncIterator[Webhook]:
    async with kept(tmp_path_factory.mktemp("webhook"), shared_versions) as webhook:
        yield webhook


@pytest.fixture
def versions(shared_versions: Replaced) -> Replaced:
    """The OperatorVersions of the shared webhook: `first_operator`, or what a test puts there."""
    shared_versions.source = first_operator()
    return shared_versions


@pytest.fixture
def webhook(shared_webhook: Webhook, versions: Replaced) -> Webhook:
    """The shared webhook, for tests on the loop of the session."""
    return shared_webhook
