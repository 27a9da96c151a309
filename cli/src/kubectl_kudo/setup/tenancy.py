"""The mode of tenancy that `kubectl kudo init` installs, and what it says about it."""

import re
from dataclasses import replace
from typing import Final

from kubectl_kudo.accounts.mode import mode_of
from kubectl_kudo.setup.cluster import find
from kubectl_kudo.setup.kinds import RECONCILER
from kubectl_kudo.setup.options import COMPAT, STRICT, Options
from kubeio.client import Client
from kubeio.kinds import DEPLOYMENTS

_CONSTRAINED_SINCE: Final = (1, 36)
_COMPAT: Final = (
    "tenancy is compat, as with KUDO 0.19: plans have the rights of KUDO; with --tenancy strict, "
    "those of an account of their namespace"
)
_NEXT: Final = """\
tenancy is strict: plans have the rights of a service account of their namespace
  let KUDO act as the accounts of a namespace: kubectl kudo rbac --namespace NAMESPACE
  the rights that an account needs:            kubectl kudo rbac PACKAGE
Both print objects: pass them to kubectl apply"""


async def settled(client: Client, options: Options, given: str) -> Options:
    """Return the options with the mode of what is installed, unless the flag gives another.

    Args:
        client: The connection.
        options: Of the flags.
        given: The value of the flag `--tenancy`, or nothing.
    """
    tenancy = given or await installed_tenancy(client, options.namespace) or COMPAT
    return replace(options, tenancy=tenancy, constrained=await has_constraints(client))


async def installed_tenancy(client: Client, namespace: str) -> str:
    """Return the mode of the installed reconciler; empty if there is none, or an older one."""
    found = await find(client, DEPLOYMENTS, RECONCILER, namespace)
    return mode_of(found) if found else ""


async def has_constraints(client: Client) -> bool:
    """Return whether the API server has constrained impersonation, by its version."""
    version = str((await client.server_version()).get("gitVersion") or "")
    match = re.match(r"v(\d+)\.(\d+)", version)
    return match is None or tuple(map(int, match.groups())) >= _CONSTRAINED_SINCE


def notice(tenancy: str) -> str:
    """Return what to tell the user about the mode, and what to do next."""
    return _NEXT if tenancy == STRICT else _COMPAT
