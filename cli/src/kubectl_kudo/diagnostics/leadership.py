"""Asks whether a reconciler leads, so that runs begin."""

from datetime import datetime

from kubectl_kudo.diagnostics.installation import find_lease
from kubectl_kudo.diagnostics.installation_findings import of_lease
from kubectl_kudo.diagnostics.reading import Reader
from kubeio.client import Client


async def nobody_leads(client: Client, now: datetime) -> bool:
    """Return whether no reconciler holds the Lease; False also if that cannot be read."""
    found = await find_lease(Reader(client))
    return found is not None and of_lease(*found, now) is not None
