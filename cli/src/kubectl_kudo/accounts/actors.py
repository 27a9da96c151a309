"""Which account an Instance acts as, and the reconciler that acts as it."""

from dataclasses import dataclass, field
from typing import Final

from kubectl_kudo.session.output import JsonObject, talk
from kubeio.client import Client
from kubeio.errors import Forbidden, NotFound
from kubeio.resource import DEPLOYMENTS, NAMESPACES
from kudo.admission.tenancy import DEFAULT_ACCOUNT, Tenancy, account_of
from kudo.api import Instance
from kudo.api.names import ANNOTATION_SERVICE_ACCOUNT

DEFAULT_NAMESPACE: Final = "kudo-system"
RECONCILER: Final = "kudo-reconciler"
_OURS: Final = "app.kubernetes.io/part-of=kudo"
_FLAG: Final = "--tenancy="
_MODES: Final = frozenset({"strict", "compat"})


def role_name(instance: str) -> str:
    """Return the name of an Instance's Role and RoleBinding."""
    return f"kudo-{instance}"


def cluster_role_name(namespace: str, instance: str) -> str:
    """Return a name that no two Instances share: names of Instances contain no colon."""
    return f"kudo:{namespace}:{instance}"


def pod_spec(deployment: JsonObject) -> JsonObject:
    """Return the spec of the pods of a Deployment."""
    for name in ("spec", "template", "spec"):
        deployment = deployment.get(name) or {}
    return deployment


def mode_of(deployment: JsonObject) -> str:
    """Return the mode of a reconciler; empty if its release knows none."""
    pod = pod_spec(deployment)
    arguments = [str(text) for c in pod.get("containers") or [] for text in c.get("args") or []]
    modes = [text.removeprefix(_FLAG) for text in arguments if text.startswith(_FLAG)]
    # Of a flag that is given twice the last counts, as for the reconciler.
    return modes[-1] if modes and modes[-1] in _MODES else ""


@dataclass(slots=True)
class Accounts:
    """The accounts of Instances, as they are in strict mode.

    Attributes:
        client: Reads Namespaces, each once.
        has_warned: Whether the user knows that they may not be read.
    """

    client: Client
    has_warned: bool = False
    _defaults: dict[str, str | None] = field(default_factory=dict)

    async def of(self, instance: Instance) -> str:
        """Return the account that an Instance acts as in strict mode."""
        namespace = instance.metadata.namespace
        if namespace not in self._defaults:
            metadata = (await self._read(namespace)).get("metadata") or {}
            account = (metadata.get("annotations") or {}).get(ANNOTATION_SERVICE_ACCOUNT)
            self._defaults[namespace] = str(account) if account else None
        default = self._defaults[namespace]
        return account_of(instance, Tenancy.STRICT, default) or DEFAULT_ACCOUNT

    async def _read(self, namespace: str) -> JsonObject:
        try:
            return await self.client.get(NAMESPACES, namespace)
        except NotFound:
            # An installation may create it; until then it names no account.
            return {}
        except Forbidden:
            if not self.has_warned:
                talk(
                    f"You may not read namespace {namespace}: instances that name no account are "
                    f"taken to act as {DEFAULT_ACCOUNT}; an annotation {ANNOTATION_SERVICE_ACCOUNT}"
                    " of the namespace would say otherwise."
                )
            self.has_warned = True
            return {}


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Who acts as the accounts.

    Attributes:
        namespace: Where KUDO is installed.
        account: The ServiceAccount of its Deployment; `init --service-account` sets another one.
        tenancy: The mode that it was started with; empty if that is not known.
    """

    namespace: str
    account: str = RECONCILER
    tenancy: str = ""


async def reconciler_of(client: Client, named: str = "") -> Reconciler:
    """Return the reconciler of the named namespace, else the one that is in the cluster."""
    try:
        installed = await installed_reconciler(client, named)
    except (Forbidden, ValueError):
        if not named:
            talk(
                "You may not list Deployments, so KUDO is taken to be in namespace "
                f"{DEFAULT_NAMESPACE}; name another one with --kudo-namespace"
            )
        installed = None
    # It may run outside of the cluster, as on the machine of a developer.
    return installed or Reconciler(named or DEFAULT_NAMESPACE)


async def installed_reconciler(client: Client, namespace: str = "") -> Reconciler | None:
    """Return the reconciler of a namespace, or of the cluster; None if there is none.

    Raises:
        Forbidden: the user may not list Deployments there.
    """
    page = await client.list(DEPLOYMENTS, namespace=namespace or None, label_selector=_OURS)
    for deployment in page.items:
        metadata = deployment["metadata"]
        if metadata["name"] == RECONCILER:
            account = pod_spec(deployment).get("serviceAccountName") or RECONCILER
            return Reconciler(metadata["namespace"], account, mode_of(deployment))
    return None
