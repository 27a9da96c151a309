"""The accounts that Instances act as, and which ServiceAccounts exist.

Every request of a task, and every other request for an Instance that is not the bookkeeping of
KUDO, is sent by a client of this module. A failure never yields a client that acts as the
reconciler. See docs/design/20261123.tenancy.md.

In strict two informers tell which accounts exist, which one a Namespace names, and whether it is
being deleted. What they lack is read before it counts as missing: their events may be late. In
compat nothing is watched, since hardly any Instance names an account there; an account that was
read counts as existing for a while.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.errors import Forbidden, KubeError, NotFound
from kubeio.names import is_subdomain
from kubeio.resource import NAMESPACES, SERVICE_ACCOUNTS, Resource
from kubeio.types import JsonObject
from kudo.admission.tenancy import Tenancy, account_of, is_reserved
from kudo.api import Instance
from kudo.api.names import ANNOTATION_SERVICE_ACCOUNT
from kudo.api.task_kinds import FatalTaskError, TaskError, TransientTaskError
from kudo_reconciler.common.clock import loop_seconds

_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")
_SECONDS: Final = 5.0
"""How long an account that was read counts as there."""
_MOST: Final = 1000
"""Accounts that are remembered at the same time."""
_LONGEST: Final = 254
"""Characters of an annotation that are kept: one more than a name can have."""


def kept(obj: JsonObject) -> JsonObject:
    """Return what the informers keep of a ServiceAccount or a Namespace."""
    metadata = obj["metadata"]
    small: JsonObject = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    # Tenants write the annotations of ServiceAccounts, 256 KiB of each.
    account = None if metadata.get("namespace") else _default(obj)
    if account:
        small["annotations"] = {ANNOTATION_SERVICE_ACCOUNT: account}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": small}


class Directory:
    """ServiceAccounts and Namespaces.

    Args:
        client: The reconciler's own.
        accounts: The informer of ServiceAccounts; None in compat.
        namespaces: The informer of Namespaces; None in compat.
        clock: Seconds.
    """

    def __init__(
        self,
        client: Client,
        accounts: Informer | None = None,
        namespaces: Informer | None = None,
        clock: Callable[[], float] = loop_seconds,
    ) -> None:
        self._client = client
        self._accounts = accounts
        self._namespaces = namespaces
        self._clock = clock
        self._found: OrderedDict[tuple[str, str], float] = OrderedDict()

    @property
    def informers(self) -> tuple[Informer, ...]:
        return tuple(
            informer for informer in (self._accounts, self._namespaces) if informer is not None
        )

    @property
    def synced(self) -> bool:
        return all(informer.has_synced for informer in self.informers)

    def known_default(self, namespace: str) -> str | None:
        """Return the account that a Namespace names, as far as the informer knows."""
        cached = None if self._namespaces is None else self._namespaces.get(None, namespace)
        return None if cached is None else _default(cached)

    async def default(self, namespace: str) -> str | None:
        """Return the account that a Namespace names, or None.

        Raises:
            KubeError: the Namespace could not be read.
        """
        obj = await self._current(self._namespaces, NAMESPACES, None, namespace)
        return None if obj is None else _default(obj)

    async def is_terminating(self, namespace: str) -> bool:
        """Return whether a Namespace is being deleted, or is gone.

        Raises:
            KubeError: the Namespace could not be read.
        """
        obj = await self._current(self._namespaces, NAMESPACES, None, namespace)
        return obj is None or _is_deleting(obj)

    async def has_account(self, namespace: str, name: str) -> bool:
        """Return whether a ServiceAccount exists and is not being deleted.

        Raises:
            KubeError: it could not be read.
        """
        key = namespace, name
        if self._accounts is None and self._found.get(key, float("-inf")) > self._clock():
            return True
        account = await self._current(self._accounts, SERVICE_ACCOUNTS, namespace, name)
        # What is being deleted loses its rights at any moment, and nothing new is begun with it.
        if account is None or _is_deleting(account):
            return False
        if self._accounts is None:
            # In compat nothing tells of its deletion, so it counts as existing for a short while.
            self._found[key] = self._clock() + _SECONDS
            self._found.move_to_end(key)
            # The oldest goes: tenants choose how many names are asked for.
            if len(self._found) > _MOST:
                self._found.popitem(last=False)
        return True

    async def _current(
        self, informer: Informer | None, resource: Resource, namespace: str | None, name: str
    ) -> JsonObject | None:
        """Return an object from the cache, or else as it is read now; None if there is none."""
        cached = None if informer is None else informer.get(namespace, name)
        if cached is not None:
            return cached
        try:
            live = await self._client.get(resource, name, namespace=namespace)
        except NotFound:
            return None
        # The event of this state may be late; until then the cache has what was read.
        if informer is not None:
            informer.observe(live)
        return live


def _default(namespace: JsonObject) -> str | None:
    text = (namespace["metadata"].get("annotations") or {}).get(ANNOTATION_SERVICE_ACCOUNT)
    # What is too long for a name stays too long.
    return None if text is None else text[:_LONGEST]


def _is_deleting(obj: JsonObject) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


_NOT_FOUND: Final = "ServiceAccountNotFound"


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts of Instances.

    Attributes:
        client: The reconciler's own.
        mode: Of the installation.
        own_namespaces: Those of the reconciler and of its Lease, in which nobody is impersonated.
        directory: Tells which accounts exist.
    """

    client: Client
    mode: Tenancy
    own_namespaces: Collection[str]
    directory: Directory

    def identity_of(self, instance: Instance) -> Identity | None:
        """Return the identity that an Instance acts as; None is the reconciler's own.

        Nothing is read: whether the account exists is not known.

        Raises:
            FatalTaskError: nobody is impersonated in its namespace; NamespaceReserved.
            TransientTaskError: the account has no valid name; ServiceAccountNotFound.
        """
        default = self.directory.known_default(instance.metadata.namespace)
        return self._identity(instance, account_of(instance, self.mode, default))

    async def name_of(self, instance: Instance) -> str | None:
        """Return the account that a run of an Instance begins with; None is the reconciler itself.

        Raises:
            KubeError: its Namespace could not be read.
        """
        named = account_of(instance, Tenancy.COMPAT)
        if named is not None or self.mode is Tenancy.COMPAT:
            return named
        default = await self.directory.default(instance.metadata.namespace)
        return account_of(instance, self.mode, default)

    async def acting_for(self, instance: Instance) -> Client:
        """Return a client that acts as the account of an Instance; raises as `acting` does."""
        try:
            return await self.acting(instance, await self.name_of(instance))
        except KubeError as error:
            raise TransientTaskError("TaskError", f"{error}") from error

    async def acting(self, instance: Instance, account: str | None) -> Client:
        """Return a client that acts as an account of the namespace of an Instance.

        The API server impersonates accounts that do not exist, and bindings outlive accounts. So
        the account is looked up first.

        Raises:
            FatalTaskError: nobody is impersonated in its namespace; NamespaceReserved.
            TransientTaskError: the account does not exist, or could not be read.
            ValueError: in strict no account is named; nothing is ever sent as the reconciler.
        """
        if account is None and self.mode is Tenancy.STRICT:
            raise ValueError("no account is named in strict mode")
        identity = self._identity(instance, account)
        if identity is None or account is None:
            return self.client
        try:
            exists = await self.directory.has_account(instance.metadata.namespace, account)
        except KubeError as error:
            raise TransientTaskError("TaskError", f"{error}") from error
        if not exists:
            raise TransientTaskError("ServiceAccountNotFound", self._missing(instance, account))
        return self.client.acting(identity)

    async def ends_with_namespace(
        self, instance: Instance, identity: Identity | None, error: TaskError
    ) -> bool:
        """Return whether an error stays, since the Instance is deleted together with its namespace.

        Accounts and bindings may go before Instances, and come no more.

        Args:
            instance: The Instance whose task failed.
            identity: Who the task acted as.
            error: Why it failed.
        """
        refused = identity is not None and isinstance(error.__cause__, Forbidden)
        if not instance.metadata.deleting or not (refused or error.reason == _NOT_FOUND):
            return False
        try:
            return await self.directory.is_terminating(instance.metadata.namespace)
        except KubeError:
            return False

    def _identity(self, instance: Instance, account: str | None) -> Identity | None:
        if account is None:
            return None
        namespace = instance.metadata.namespace
        if any(is_reserved(namespace, own) for own in self.own_namespaces):
            text = (
                f"nobody is impersonated in namespace {namespace}, since it is one of the system "
                "or the reconciler's: install the Instance in another namespace"
            )
            raise FatalTaskError("NamespaceReserved", text)
        try:
            return Identity.service_account(namespace, account)
        except ValueError as error:
            text = f"{error}: correct {self._place(instance, account)}"
            raise TransientTaskError("ServiceAccountNotFound", text) from error

    def _missing(self, instance: Instance, account: str) -> str:
        # A run keeps its account, and the name may not be changed while it runs.
        place = self._place(instance, account)
        other = "name another one in spec.serviceAccountName"
        if ANNOTATION_SERVICE_ACCOUNT in place:
            other = f"{other}, or change or remove {place}"
        return (
            f"ServiceAccount {account} does not exist in namespace {instance.metadata.namespace}: "
            f"create it, and the plan continues; or cancel the plan, and {other}"
        )

    def _place(self, instance: Instance, account: str) -> str:
        """Return where an account is named."""
        namespace = instance.metadata.namespace
        if instance.spec.service_account_name == account:
            return "spec.serviceAccountName"
        if self.mode is Tenancy.STRICT and self.directory.known_default(namespace) == account:
            return f"the annotation {ANNOTATION_SERVICE_ACCOUNT} of namespace {namespace}"
        return "spec.serviceAccountName"


def recordable(account: str | None) -> str | None:
    """Return an account if it has a name that an account can have."""
    return account if account is not None and is_subdomain(account) else None
