"""`kubectl kudo init --uninstall`: removes both services, and with `--delete-crds` the CRDs.

The CRDs, and all Instances with them, are deleted first, while the services still run cleanup
plans. Then the webhook configurations, so that no change is blocked by a webhook that is gone.
"""

import asyncio
import sys
from dataclasses import dataclass
from functools import partial
from typing import Final

from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.kinds import INSTANCES, INVENTORIES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.setup.checks import installed_otherwise
from kubectl_kudo.setup.cluster import (
    RECONCILER,
    WEBHOOK,
    StillThere,
    find,
    installed,
    kind_of,
    named,
    remove,
    until_gone,
)
from kubectl_kudo.setup.install import DIGEST_KEY
from kubectl_kudo.setup.manifests import read_crds
from kubectl_kudo.setup.options import Options
from kubeio.client import Client
from kubeio.errors import Forbidden, NotFound
from kubeio.resource import CRDS, DEPLOYMENTS, LEASES, SECRETS, Resource

_NOT_IN_MANIFESTS: Final = (
    (LEASES, RECONCILER),
    (SECRETS, DIGEST_KEY),
    *((SECRETS, f"{WEBHOOK}-{what}") for what in ("certificate", "certificate-ca", "tls", "ca")),
)
_HELD: Final = (
    "an Instance with a cleanup plan is deleted after the reconciler has run it: `kubectl get "
    "instances --all-namespaces` shows which are left"
)


@dataclass(frozen=True, slots=True)
class Removal:
    """The flags that go with `--uninstall`.

    Attributes:
        yes: Whether to remove without confirmation.
        crds: Whether to delete the CRDs, and with them all objects of KUDO.
        dry_run: Whether only to print what would be deleted.
    """

    yes: bool
    crds: bool
    dry_run: bool


async def uninstall(client: Client, options: Options, removal: Removal) -> None:
    """Remove what `init` has installed, and print what stays.

    Raises:
        UsageError: confirmation is needed, and stdin is not a terminal.
        CliError: the answer was no, KUDO was installed otherwise, or a step failed.
    """
    theirs = await installed_otherwise(client, options.namespace)
    if theirs:
        raise CliError(theirs[0])
    objects = sorted(await installed(client, options.namespace), key=_rank)
    if not objects and not removal.crds:
        say(f"KUDO is not installed in namespace {options.namespace}")
        return
    try:
        instances = len((await client.list(INSTANCES, metadata_only=True)).items)
    except (NotFound, Forbidden):
        # The number is for the question and the texts alone.
        instances = 0
    if not removal.yes and not removal.dry_run:
        await _ask(options, removal, instances)
    delete = partial(_delete, client, options, removal)
    if removal.crds:
        # Instances first: their cleanup plans need their OperatorVersions, their ends Inventories.
        for crd in (INSTANCES, OPERATOR_VERSIONS, OPERATORS, INVENTORIES):
            try:
                await delete(CRDS, crd.name, None, wait=True)
            except StillThere as error:
                raise CliError(f"{error}; {_HELD}") from None
    for obj in objects:
        kind, metadata = kind_of(obj), obj["metadata"]
        # A reconciler that runs would create its Lease again, a webhook its Secrets.
        waits = kind == DEPLOYMENTS
        await delete(kind, metadata["name"], metadata.get("namespace"), wait=waits)
    for kind, name in _NOT_IN_MANIFESTS if objects else ():
        await delete(kind, name, options.namespace)
    if not removal.crds and not removal.dry_run:
        crds = " ".join(crd["metadata"]["name"] for crd in read_crds())
        talk(
            f"the CRDs stay, with {instances} Instances and what they run, and so does namespace "
            f"{options.namespace}\n"
            "an Instance with a cleanup plan that is deleted now waits until KUDO is installed "
            "again\n"
            f"to remove the CRDs and all objects of KUDO: kubectl delete crd {crds}"
        )


def _rank(obj: JsonObject) -> int:
    """Return the place in the order: webhook configurations, then Deployments, RBAC last."""
    # The services need their rights until they have stopped.
    first = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", DEPLOYMENTS.kind)
    last = ("RoleBinding", "Role", "ClusterRoleBinding", "ClusterRole", "ServiceAccount")
    kind = obj["kind"]
    if kind in first:
        return first.index(kind)
    return len(first) + 1 + last.index(kind) if kind in last else len(first)


async def _ask(options: Options, removal: Removal, instances: int) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "'--uninstall' asks for confirmation, and stdin is not a terminal: give --yes"
        )
    rest = " and all Operators, OperatorVersions and Instances of the cluster, with what they run"
    what = f"KUDO from namespace {options.namespace}{rest if removal.crds else ''}"
    talk(f"This removes {what}. There are {instances} Instances. Continue? [y/N]")
    answer = await asyncio.to_thread(sys.stdin.readline)
    if answer.strip().lower() not in {"y", "yes"}:
        raise CliError("nothing was removed")


async def _delete(
    client: Client,
    options: Options,
    removal: Removal,
    kind: Resource,
    name: str,
    namespace: str | None,
    *,
    wait: bool = False,
) -> None:
    if removal.dry_run:
        if await find(client, kind, name, namespace) is not None:
            say(f"{named(kind, name)} deleted (dry run)")
    elif await remove(client, kind, name, namespace) is not None:
        if wait:
            await until_gone(client, kind, name, namespace, options.wait_seconds)
        say(f"{named(kind, name)} deleted")
