"""The webhook configurations of an installation, taken away and put back by our own client.

Starting kubectl for it would cost more than most tests that need it.
"""

from contextlib import suppress

import yaml

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from kudo_cluster.installation import Installation

CONFIGURATION = "kudo-instance-admission"
_GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = tuple(
    Resource(_GROUP, "v1", f"{kind}Configuration", f"{kind.lower()}configurations", False)
    for kind in ("MutatingWebhook", "ValidatingWebhook")
)


async def unregister(admin: Client) -> None:
    """Delete both configurations, if they are there."""
    for resource in CONFIGURATIONS:
        with suppress(NotFound):
            await admin.delete(resource, CONFIGURATION)


async def restore(installation: Installation, admin: Client) -> None:
    """Create or restore both configurations, as `Installation.register_webhook` does."""
    for configuration in yaml.safe_load_all(installation.configurations):
        resource = next(one for one in CONFIGURATIONS if one.kind == configuration["kind"])
        await admin.apply(resource, configuration, field_manager="kubectl", force=True)
